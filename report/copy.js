// Buttons that copy the text of an element.
"use strict";

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select the text to copy it";
  }
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", () => copy(document.getElementById(button.dataset.copy).textContent, button));
}
