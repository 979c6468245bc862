// Search, filter, sort and pages. Rows are taken out of the page and shown fifty at a time, so that thousands stay
// quick; paper gets all rows that were found. Without this script all rows are there, in the order given.
const PAGE = 50;
const one = (query) => document.querySelector(query);
const each = (query, act) => document.querySelectorAll(query).forEach(act);
const table = one("#pairs"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
const all = [...body.rows], search = one("input"), filter = one("form > select"), sorting = one(".sort select");
let order = all.map((_, place) => place), found = order, first = 0, index = null;

const named = (box) => {
  const kind = box.className[0], [source, target] = [...box.querySelectorAll("bdi")].map((part) => part.textContent);
  return kind + ({ s: `${source}→${target}`, d: `−${source}`, i: `+${source}` }[kind] ?? `=${source}`);
};
const read = (row) => {
  const [source, target] = [row.cells[1].textContent, row.cells[2].textContent];
  const operations = [...row.cells[3].firstChild.children].map(named);
  const told = operations.map((name) => name.slice(1)).join("\n");
  return { text: `${source}\n${target}\n${told}`.toLowerCase(), operations: new Set(operations.flatMap((name) => [name, name[0]])) };
};
const indexed = () => (index ??= all.map(read));

function draw() {
  body.replaceChildren(...found.slice(first, first + PAGE).map((place) => all[place]));
  const last = Math.min(first + PAGE, found.length), count = found.length.toLocaleString("en");
  each("output", (shown) => { shown.textContent = found.length ? `${(first + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${count}` : "no such pair"; });
  each("[data-step]", (button) => { button.disabled = button.dataset.step < 0 ? first === 0 : last >= found.length; });
}
function choose() {
  const wanted = search.value.trim().toLowerCase().replace(/->|>/g, "→").replace(/^-/, "−"), operation = filter.value;
  found = !wanted && !operation ? order : order.filter((place) => {
    const row = indexed()[place];
    return (!operation || row.operations.has(operation)) && row.text.includes(wanted);
  });
  first = 0;
  draw();
}
const words = new Intl.Collator();
function sort(column, falling) {
  const keys = all.map((row) => row.cells[column].dataset.v ?? row.cells[column].textContent);
  const numbers = all.length && all[0].cells[column].dataset.v !== undefined ? keys.map(Number) : null;
  const compare = numbers ? (a, b) => numbers[a] - numbers[b] : (a, b) => words.compare(keys[a], keys[b]);
  order = all.map((_, place) => place).sort((a, b) => (falling ? -1 : 1) * compare(a, b) || a - b);
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
  sorting.value = `${column} ${Number(falling)}`;
  choose();
}
heads.forEach((head, column) => {
  const press = () => sort(column, head.getAttribute("aria-sort") === "ascending");
  head.tabIndex = 0;
  head.addEventListener("click", press);
  head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); press(); } });
  for (const falling of [0, 1]) sorting.add(new Option(`${head.textContent} ${falling ? "▾" : "▴"}`, `${column} ${falling}`));
});
sorting.addEventListener("change", () => { const [column, falling] = sorting.value.split(" "); sort(Number(column), falling === "1"); });
search.addEventListener("input", choose);
filter.addEventListener("change", choose);
one("form").addEventListener("submit", (event) => event.preventDefault());
each("[data-f]", (chip) => chip.addEventListener("click", () => {
  const name = chip.dataset.f;
  if (![...filter.options].some((option) => option.value === name)) filter.add(new Option(name.slice(1), name));
  filter.value = name;
  choose();
  one("main").scrollIntoView();
}));
each("[data-step]", (button) => button.addEventListener("click", () => {
  first = Math.max(0, first + PAGE * Number(button.dataset.step));
  draw();
  one("main").scrollIntoView();
}));
const told = () => [search.value.trim(), filter.value.slice(1) || filter.value && filter.selectedOptions[0].text].filter(Boolean).join(", ");
addEventListener("beforeprint", () => {
  one(".legend b").textContent = found.length < all.length ? `${found.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} pairs: ${told()}` : "";
  body.replaceChildren(...found.map((place) => all[place]));
});
addEventListener("afterprint", () => { one(".legend b").textContent = ""; draw(); });
draw();
setTimeout(indexed, 50);
