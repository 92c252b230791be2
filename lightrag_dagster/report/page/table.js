"use strict";
// The table of entities: searched, sorted, a page at a time.

const PAGE = 50;
const COLUMNS = [
  { name: "Name", order: (a, b) => compareNames(a, b), first: 1 },
  { name: "Type", order: (a, b) => compareTexts(typeOf(a), typeOf(b)), first: 1 },
  { name: "Relations", order: (a, b) => entities.degree[a] - entities.degree[b], first: -1 },
  { name: "Passages", order: (a, b) => entities.passages[a] - entities.passages[b], first: -1 },
];
const typeOf = (entity) => shown.types[entities.type[entity]];
const compareTexts = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const compareNames = (a, b) => compareTexts(foldOf(a), foldOf(b));

const search = document.getElementById("search");
let sorted = { column: 2, direction: -1 };
let searched = [];
let firstRow = 0;
let selectedEntity = null;

// Names that begin with the text come before those in which a word does, and those that hold it anywhere.
function fits(entity, wanted) {
  const name = foldOf(entity);
  if (name.startsWith(wanted)) return 3;
  if (name.includes(` ${wanted}`)) return 2;
  return name.includes(wanted) ? 1 : 0;
}

function searchTable(choose) {
  const wanted = fold(search.value.trim());
  const found = [];
  const fit = [];
  for (let entity = 0; entity < count; entity++) {
    if (!isVisible(entity)) continue;
    fit[entity] = wanted ? fits(entity, wanted) : 1;
    if (fit[entity]) found.push(entity);
  }
  const order = COLUMNS[sorted.column].order;
  found.sort((a, b) => fit[b] - fit[a] || sorted.direction * order(a, b) || a - b);
  searched = found;
  firstRow = 0;
  showRows(choose);
}

function showColumns(choose) {
  const cells = COLUMNS.map((column, at) => {
    const now = sorted.column === at;
    const cell = make("th", null, { scope: "col", "aria-sort": !now ? "none" : sorted.direction > 0 ? "ascending" : "descending" });
    const arrow = now ? (sorted.direction > 0 ? " ▲" : " ▼") : "";
    cell.append(button(column.name + arrow, () => {
      sorted = { column: at, direction: now ? -sorted.direction : column.first };
      showColumns(choose);
      searchTable(choose);
      document.querySelectorAll("#columns button")[at].focus();
    }));
    return cell;
  });
  document.getElementById("columns").replaceChildren(...cells);
}

function showRows(choose) {
  const rows = searched.slice(firstRow, firstRow + PAGE).map((entity) => {
    const row = make("tr", null, entity === selectedEntity ? { class: "selected" } : {});
    const name = make("th", null, { scope: "row" });
    name.append(button(entities.name[entity], () => choose(entity, true), { "data-entity": String(entity) }));
    row.append(name, make("td", typeOf(entity)), make("td", number(entities.degree[entity])), make("td", number(entities.passages[entity])));
    row.addEventListener("click", (event) => {
      if (event.target.tagName !== "BUTTON") choose(entity, true);
    });
    return row;
  });
  document.getElementById("rows").replaceChildren(...rows);
  const last = Math.min(firstRow + PAGE, searched.length);
  document.getElementById("found").textContent = `${number(searched.length)} of ${number(count)} entities`;
  document.getElementById("page").textContent = searched.length ? `${number(firstRow + 1)}–${number(last)}` : "none";
  document.getElementById("before").disabled = firstRow === 0;
  document.getElementById("after").disabled = last >= searched.length;
}

function markRow(entity) {
  selectedEntity = entity;
  for (const one of document.querySelectorAll("#rows button")) {
    one.closest("tr").classList.toggle("selected", Number(one.dataset.entity) === entity);
  }
}

function startTable(choose) {
  showColumns(choose);
  searchTable(choose);
  search.addEventListener("input", () => {
    if (list.hidden) choose(null);
    searchTable(choose);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && searched.length) choose(searched[0], true);
    else if (event.key === "ArrowDown") document.querySelector("#rows button")?.focus();
    else return;
    event.preventDefault();
  });
  document.getElementById("rows").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...document.querySelectorAll("#rows button")];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    (next || (step < 0 ? search : null))?.focus();
    event.preventDefault();
  });
  const turn = (rows) => {
    firstRow = Math.max(0, firstRow + rows);
    showRows(choose);
  };
  document.getElementById("before").addEventListener("click", () => turn(-PAGE));
  document.getElementById("after").addEventListener("click", () => turn(PAGE));
}
