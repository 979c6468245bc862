// A click on the head of a column sorts by it; a second one the other way round. Without scripts all is there too.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const rising = head.getAttribute("aria-sort") === "descending";
    const key = (row) => Number(row.cells[column].dataset.key);
    const rows = [...table.tBodies[0].rows].sort((a, b) => (rising ? 1 : -1) * (key(a) - key(b)));
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    table.tBodies[0].append(...rows);
  }));
}
