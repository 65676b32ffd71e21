// Sorting and filtering of tables. Without scripts the tables are all there, only fixed.
"use strict";

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.tHead.querySelectorAll("th").forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const ascending = header.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const rows = Array.from(body.rows, (row, place) => ({ row, place, key: keyOf(row.cells[column]) }));
      rows.sort((a, b) => compare(a.key, b.key, ascending) || a.place - b.place);
      body.append(...rows.map((entry) => entry.row));
    });
  });
}

// Numbers carry their exact value in data-value; empty cells sort last in both directions.
function keyOf(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  if (text === "") return null;
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

function compare(a, b, ascending) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return ascending ? order : -order;
}

for (const form of document.querySelectorAll("form.filters")) {
  const table = document.getElementById(form.dataset.table);
  const rows = Array.from(table.tBodies[0].rows);
  const count = form.querySelector("output");
  const apply = () => {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Array.from(form.querySelectorAll("select"), (s) => [s.name, s.value]).filter(([, v]) => v);
    let visible = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const keep = words.every((w) => text.includes(w)) && chosen.every(([name, v]) => row.dataset[name] === v);
      row.hidden = !keep;
      visible += keep;
    }
    count.textContent = `${visible} of ${rows.length} rows`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}
