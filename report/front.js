// The front page: the chooser, the toggles of the landscape, and copying.
"use strict";

(() => {
  const form = document.querySelector("form.chooser");
  if (!form) return;
  const data = JSON.parse(document.getElementById("choices").textContent);
  const out = document.querySelector(".chosen");
  const node = (tag, attributes, ...children) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...children);
    return made;
  };
  const { hardware, kind, size } = form.elements;
  hardware.append(...data.hardware.map((h, i) => node("option", { value: i }, h.name)));
  kind.append(...data.kinds.map((name, i) => node("option", { value: i }, name)));
  size.append(...data.sizes.map(([, text], i) => node("option", { value: i }, text)));
  size.selectedIndex = data.sizes.findIndex(([m]) => m >= 1e6);

  // The nearest record of the same hardware and kind of graph, of those made here or elsewhere.
  function nearest(here, m) {
    const fit = data.evidence.filter((e) => e.hardware === data.hardware[hardware.value].id && e.kind === Number(kind.value) && e.here === here);
    return fit.sort((a, b) => Math.abs(Math.log(a.m / m)) - Math.abs(Math.log(b.m / m)))[0];
  }

  function show() {
    const m = data.sizes[size.value][0];
    const answer = data.answers[hardware.value][kind.value][size.value];
    if (!answer) {
      out.replaceChildren(node("p", {}, "There is no such graph of so few edges: choose more."));
      return;
    }
    const [algorithm, call, margin, second] = answer;
    const next = margin ? `: the next best, ${second}, took ${margin} as long` : "";
    const sure = data.sure ? ` Within 20 % of the best in ${data.sure}.` : "";
    const button = node("button", { type: "button" }, "Copy");
    button.addEventListener("click", () => copy(call, button));
    const lines = [true, false].map((here) => [here, nearest(here, m)]).filter(([, found]) => found);
    const records = lines.map(([here, found]) => node("p", {},
      node("i", { className: `source ${here ? "here" : "elsewhere"}` }), ` Nearest record: ${found.text}. `,
      node("span", { className: `badge ${found.badge.startsWith("disturbed") ? "noisy" : ""}` }, found.badge)));
    if (!records.length) records.push(node("p", { className: "note" }, "No record of such graphs on such hardware yet."));
    out.replaceChildren(
      node("p", {}, "Use ", node("b", {}, algorithm), ` on ${data.hardware[hardware.value].name}${next} on generated graphs of this kind and size (${data.machine}).${sure}`),
      node("p", { className: "call" }, node("code", {}, call), button), ...records);
  }
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();

for (const form of document.querySelectorAll("form.toggles")) {
  const figure = form.parentElement.querySelector("figure");
  const kinds = new Map();
  for (const group of figure.querySelectorAll("g[id]")) {
    const found = group.id.match(/^landscape-(.+)-(measured|reference)(?:-whiskers)?$/);
    if (!found) continue;
    const [, kind, origin] = found;
    for (const key of [kind, origin]) kinds.set(key, [...(kinds.get(key) ?? []), group]);
  }
  const off = new Set();
  const names = { measured: "measured here", reference: "measured on reference machines", gpu: "GPU", mpi: "MPI" };
  const order = [...kinds.keys()].sort((a, b) => (a in names && a.length > 3) - (b in names && b.length > 3));
  for (const key of order) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    const label = document.createElement("label");
    label.append(box);
    if (key !== "measured" && key !== "reference") {
      const swatch = document.createElement("i");
      swatch.style.background = getComputedStyle(kinds.get(key)[0].querySelector("use")).stroke;
      label.append(swatch);
    }
    label.append(` ${names[key] ?? key.replaceAll("-", " ").replace("gpu", "GPU")}`);
    box.addEventListener("change", () => {
      off[box.checked ? "delete" : "add"](key);
      for (const [name, own] of kinds) for (const group of own) group.style.display = "";
      for (const name of off) for (const group of kinds.get(name)) group.style.display = "none";
    });
    form.append(label);
  }
  form.hidden = false;
}
