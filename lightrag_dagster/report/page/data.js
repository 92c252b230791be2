"use strict";
// The data of the page, and what follows from it. All text is from documents and models: it is put on the page as text.

const shown = JSON.parse(document.getElementById("shown").textContent);
const entities = shown.entities;
const relations = shown.relations;
const count = entities.id.length;
const byCommunity = shown.drawn.kind === "communities";

// Relations of each entity, strongest first, since they are listed by weight.
const relationsOf = entities.id.map(() => []);
relations.a.forEach((a, one) => {
  relationsOf[a].push(one);
  if (relations.b[one] !== a) relationsOf[relations.b[one]].push(one);
});

const otherEnd = (relation, entity) =>
  relations.a[relation] === entity ? relations.b[relation] : relations.a[relation];

const quotesOf = entities.id.map(() => []);
shown.quotes.entity.forEach((entity, one) => quotesOf[entity].push(one));

// Sources that are chosen; of each set of sources, whether one of them is.
const chosen = shown.sources.map(() => true);
let visibleSets = shown.source_sets.map(() => true);

function chooseSource(source, on) {
  chosen[source] = on;
  visibleSets = shown.source_sets.map((set) => set.some((one) => chosen[one]));
}

const isVisible = (entity) => visibleSets[entities.sources[entity]];

function fold(text) {
  return text.normalize("NFKD").replace(/\p{Mn}+/gu, "").toLowerCase();
}

const folds = [];

function foldOf(entity) {
  if (folds[entity] === undefined) folds[entity] = fold(entities.name[entity]);
  return folds[entity];
}

const number = (value) => value.toLocaleString("en");

// Elements are made here alone, their text by textContent.
function make(tag, text, attributes) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  return element;
}

function button(text, press, attributes) {
  const element = make("button", text, { type: "button", ...attributes });
  element.addEventListener("click", press);
  return element;
}

// A place is a link if it is one of the web and not cut, else text: a path may say javascript: as well.
function placeOf(text) {
  if (!/^https?:\/\/.*[^…]$/is.test(text)) return make("span", text);
  return make("a", text, { href: text, rel: "noopener noreferrer", target: "_blank" });
}
