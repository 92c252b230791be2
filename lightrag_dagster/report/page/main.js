"use strict";
// The page: what is selected, the choice of sources, changes, and what was left out.

// Selects an entity, a community if the picture has them and `listed` is false, or nothing.
function choose(one, listed = false) {
  const entity = one !== null && (listed || !byCommunity) ? one : null;
  markRow(entity);
  if (one === null) showList();
  else if (entity === null) showCommunity(one, choose);
  else showEntity(entity, choose);
  focusOn(entity === null ? one : nodeOf(entity), { approach: listed });
  if (one === null) return;
  const heading = panel.querySelector("h2");
  if (listed) heading.focus({ preventScroll: true });
  heading.scrollIntoView({ block: "nearest" });
}

function closePanel() {
  const before = selectedEntity;
  choose(null);
  (document.querySelector(`#rows button[data-entity="${before}"]`) || search).focus();
}

function showSources() {
  const counts = shown.sources.map(() => 0);
  entities.sources.forEach((set) => shown.source_sets[set].forEach((one) => counts[one]++));
  const boxes = shown.sources.map((name, source) => {
    const label = make("label");
    const box = make("input", null, { type: "checkbox" });
    box.checked = true;
    box.addEventListener("change", () => {
      chooseSource(source, box.checked);
      if (selectedEntity !== null && !isVisible(selectedEntity)) choose(null);
      else if (selectedEntity !== null) showEntity(selectedEntity, choose);
      if (picture) picture.refresh({ skipIndexation: true });
      searchTable(choose);
    });
    label.append(box, ` ${name} `, make("span", number(counts[source]), { class: "quiet" }));
    return label;
  });
  document.getElementById("sources").replaceChildren(...boxes);
}

function showLegend() {
  const sizes = shown.groups.map(() => 0);
  if (byCommunity) shown.drawn.group.forEach((group, node) => (sizes[group] += shown.drawn.size[node]));
  else entities.group.forEach((group) => group >= 0 && sizes[group]++);
  const most = 12;
  const items = shown.groups.slice(0, most).map((name, group) => {
    const item = make("li");
    const dot = make("span", null, { class: "dot", "aria-hidden": "true" });
    dot.style.background = shown.colours[group];
    item.append(dot, make("span", name || "unnamed"), make("span", ` ${number(sizes[group])}`, { class: "quiet" }));
    return item;
  });
  const list = make("ul");
  list.append(...items);
  const what = shown.group_kind === "type" ? "types" : "communities, named by their most telling words";
  const parts = [make("p", `Colours are ${what}`, { class: "quiet" }), list, ...rest(shown.groups.length - items.length)];
  document.getElementById("legend").replaceChildren(...parts);
}

function showChanges() {
  const place = document.getElementById("changes");
  const changes = shown.changes;
  if (!changes.rows) {
    place.replaceChildren(make("h2", "Changes"), make("p", changes.note, { class: "quiet" }));
    return;
  }
  const numberOf = new Map(entities.id.map((id, entity) => [id, entity]));
  const parts = [make("h2", `Changes since ${changes.before}`)];
  for (const kind of ["document", "entity", "relation", "fact"]) {
    const counts = changes.counts[kind] || {};
    const words = ["added", "changed", "removed"].filter((one) => counts[one]).map((one) => `${number(counts[one])} ${one}`);
    const details = make("details");
    const plural = { document: "Documents", entity: "Entities", relation: "Relations", fact: "Facts" }[kind];
    details.append(make("summary", `${plural}: ${words.join(", ") || "none"}`));
    const rows = changes.rows.filter((row) => row.kind === kind);
    details.addEventListener("toggle", () => {
      if (details.querySelector("ul")) return;
      const list = make("ul", null, { class: "changed" });
      for (const row of rows) {
        const item = make("li");
        item.append(make("span", row.change, { class: `change ${row.change}` }), " ");
        const entity = numberOf.get(row.id);
        item.append(entity === undefined ? make("span", row.name) : button(row.name, () => choose(entity, true)));
        if (row.columns.length) item.append(make("span", ` ${row.columns.join(", ")}`, { class: "quiet" }));
        list.append(item);
      }
      const total = Object.values(counts).reduce((sum, one) => sum + one, 0);
      details.append(list, ...rest(total - rows.length));
    });
    parts.push(details);
  }
  place.replaceChildren(...parts);
}

function showFacts() {
  const facts = shown.facts;
  if (!facts) return;
  const place = document.getElementById("facts");
  const counts = facts.counts.map(([relation, count]) => `${relation}: ${number(count)}`).join(" · ");
  const parts = [make("h2", "Facts"), make("p", counts || "none")];
  if (facts.total) {
    const list = make("ul", null, { class: "changed" });
    for (const one of facts.contradictions) {
      const item = make("li", `${one.subject}, ${one.relation}: ${one.says} `);
      const when = one.from ? `, from ${one.from} on` : "";
      item.append(make("span", one.place, { class: "quiet" }), ` or ${one.other} `);
      item.append(make("span", `${one.other_place}${when}`, { class: "quiet" }));
      list.append(item);
    }
    const details = make("details");
    details.append(make("summary", `Contradictions: ${number(facts.total)}`), list);
    details.append(...rest(facts.total - facts.contradictions.length));
    parts.push(details);
  }
  place.replaceChildren(...parts);
  place.hidden = false;
}

function start() {
  document.getElementById("about").textContent = shown.about.join(" · ");
  drawPicture(choose);
  showLegend();
  showSources();
}

start();
document.addEventListener("DOMContentLoaded", () => {
  // A timer, so that the picture is painted before the table.
  setTimeout(() => {
    startTable(choose);
    showFacts();
    showChanges();
    const left = shown.left_out.length ? shown.left_out : ["nothing"];
    document.getElementById("left-out").replaceChildren(...left.map((one) => make("li", one)));
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  }, 0);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  closePanel();
});
