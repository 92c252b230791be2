"use strict";
// What is said about the entity, or the community, that is selected.

const panel = document.getElementById("panel");
const NEIGHBOURS = 50;
const MEMBERS = 200;

const list = document.getElementById("list");

function showPanel(parts) {
  panel.replaceChildren(...parts);
  panel.hidden = false;
  list.hidden = true;
  panel.scrollTop = 0;
}

function showList() {
  panel.hidden = true;
  list.hidden = false;
}

function titled(name, facts, close) {
  const head = make("div", null, { class: "head" });
  head.append(make("h2", name, { tabindex: "-1" }), button("Close", close, { class: "close", title: "Escape" }));
  return [head, make("p", facts.filter(Boolean).join(" · "), { class: "quiet" })];
}

function rest(left) {
  return left > 0 ? [make("p", `… and ${number(left)} more`, { class: "quiet more" })] : [];
}

function showEntity(entity, choose) {
  const sources = shown.source_sets[entities.sources[entity]].map((one) => shown.sources[one]);
  const group = entities.group[entity];
  const parts = titled(
    entities.name[entity],
    [
      shown.types[entities.type[entity]],
      group < 0 || shown.group_kind === "type" ? "" : `community: ${shown.groups[group]}`,
      `relations: ${number(entities.degree[entity])}`,
      `passages: ${number(entities.passages[entity])}`,
      `sources: ${sources.join(", ")}`,
    ],
    closePanel,
  );
  parts.push(...described(entity), ...quoted(entity), ...neighbours(entity, choose));
  showPanel(parts);
}

function described(entity) {
  const paragraphs = entities.description[entity].split("<SEP>").map((one) => one.trim()).filter(Boolean);
  return paragraphs.map((one) => make("p", one));
}

function quoted(entity) {
  const all = quotesOf[entity];
  const here = all.filter((one) => chosen[shown.documents.source[shown.quotes.document[one]]]);
  const parts = [make("h3", "Evidence, newest first")];
  for (const one of here) {
    const figure = make("figure");
    const from = shown.quotes.document[one];
    const caption = make("figcaption");
    const page = shown.quotes.page[one];
    const end = shown.quotes.page_end[one];
    const pages = page === null ? "" : end === null || end === page ? `, page ${page}` : `, pages ${page}–${end}`;
    const path = shown.documents.path[from];
    caption.append(`${shown.documents.date[from] || "undated"} · ${shown.sources[shown.documents.source[from]]} · `);
    caption.append(placeOf(path), pages);
    figure.append(make("blockquote", shown.quotes.text[one]), caption);
    parts.push(figure);
  }
  if (here.length < all.length) {
    parts.push(make("p", `${number(all.length - here.length)} quotes are of sources that are not chosen`, { class: "quiet" }));
  }
  return [...parts, ...rest(entities.passages[entity] - all.length)];
}

function neighbours(entity, choose) {
  const listed = relationsOf[entity].filter((one) => visibleSets[relations.sources[one]] && isVisible(otherEnd(one, entity)));
  const found = make("ul", null, { class: "neighbours" });
  for (const one of listed.slice(0, NEIGHBOURS)) {
    const other = otherEnd(one, entity);
    const item = make("li");
    item.append(button(entities.name[other], () => choose(other, true)));
    const keywords = relations.keywords[one];
    item.append(make("span", ` ${[number(relations.weight[one]), keywords].filter(Boolean).join(" · ")}`, { class: "quiet" }));
    found.append(item);
  }
  const left = entities.degree[entity] - Math.min(listed.length, NEIGHBOURS);
  return [make("h3", "Neighbours, by weight"), found, ...rest(left)];
}

function showCommunity(node, choose) {
  const members = shown.drawn.members[node].filter(isVisible);
  const found = make("ul", null, { class: "neighbours" });
  for (const entity of members.slice(0, MEMBERS)) {
    const item = make("li");
    item.append(button(entities.name[entity], () => choose(entity, true)));
    item.append(make("span", ` ${shown.types[entities.type[entity]]}`, { class: "quiet" }));
    found.append(item);
  }
  showPanel([
    ...titled(shown.drawn.name[node] || "A community", [`entities: ${number(shown.drawn.size[node])}`], closePanel),
    make("h3", "Entities with most relations"),
    found,
    ...rest(shown.drawn.size[node] - Math.min(members.length, MEMBERS)),
  ]);
}
