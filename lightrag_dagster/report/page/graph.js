"use strict";
// The picture: entities, or communities, by sigma. What is selected is drawn with its neighbours, all else is dimmed.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const still = window.matchMedia("(prefers-reduced-motion: reduce)");
const inks = () =>
  dark.matches
    ? { text: "#e8eaed", ground: "#16181d", edge: "#30353d", link: "#4a525d", dim: "#2a2e35", near: "#7f8a99", none: "#8b93a0" }
    : { text: "#1c2127", ground: "#ffffff", edge: "#dfe3e8", link: "#b9c1cb", dim: "#e6e9ed", near: "#8b96a5", none: "#8b93a0" };

let ink = inks();
let picture = null;
let drawnGraph = null;
let nodeInFocus = null;
let nodesInFocus = new Set();
let nodeUnderPointer = null;

const nodeOf = (entity) => (byCommunity ? shown.drawn.node_of[entity] : entity < shown.drawn.x.length ? entity : -1);
const colourOf = (group) => (group < 0 ? ink.none : shown.colours[group]);
const visibleNode = (node) =>
  byCommunity ? !shown.drawn.members[node].length || shown.drawn.members[node].some(isVisible) : isVisible(node);

// Nodes are smaller where the picture is narrow.
function buildGraph(width) {
  const graph = new graphology.Graph({ type: "undirected", multi: true });
  const drawn = shown.drawn;
  const sizes = byCommunity ? drawn.size : entities.degree;
  const largest = sizes.reduce((most, one) => Math.max(most, one), 1);
  const share = Math.min(1, Math.max(0.5, width / 760));
  const scale = share * (drawn.x.length > 2000 ? 8 : drawn.x.length > 300 ? 12 : 18);
  const smallest = share * (drawn.x.length > 2000 ? 1.4 : 3);
  drawn.x.forEach((x, node) => {
    graph.addNode(String(node), {
      x,
      y: drawn.y[node],
      size: smallest + (scale - smallest) * Math.sqrt(sizes[node] / largest),
      label: byCommunity ? drawn.name[node] : entities.name[node],
      group: byCommunity ? drawn.group[node] : entities.group[node],
    });
  });
  const links = byCommunity ? drawn.links : relations;
  const strongest = links.weight.length ? links.weight[0] : 1;
  const nodes = drawn.x.length;
  links.a.forEach((a, one) => {
    if (a >= nodes || links.b[one] >= nodes) return;
    const part = links.weight[one] / strongest;
    graph.addEdgeWithKey(String(one), String(a), String(links.b[one]), { size: 0.5 + 2.5 * Math.sqrt(Math.max(0, part)) });
  });
  return graph;
}

function reduceNode(node, attributes) {
  const found = { ...attributes, color: colourOf(attributes.group) };
  if (!visibleNode(Number(node))) return { ...found, hidden: true };
  if (nodeInFocus !== null && !nodesInFocus.has(node)) return { ...found, color: ink.dim, label: "", zIndex: 0 };
  if (nodeInFocus !== null) found.zIndex = 1;
  if (nodeInFocus === node) found.highlighted = true;
  if (nodeInFocus !== null && nodesInFocus.size <= 40) found.forceLabel = true;
  return found;
}

function reduceEdge(edge, attributes) {
  if (nodeInFocus !== null) {
    if (!drawnGraph.hasExtremity(edge, nodeInFocus)) return { ...attributes, hidden: true };
    return { ...attributes, color: ink.near, size: Math.max(1, attributes.size), zIndex: 1 };
  }
  const hidden = !byCommunity && !visibleSets[relations.sources[Number(edge)]];
  return { ...attributes, color: byCommunity ? ink.link : ink.edge, hidden };
}

function drawHover(context, data, settings) {
  if (!data.label) return;
  const size = settings.labelSize;
  context.font = `${settings.labelWeight} ${size}px ${settings.labelFont}`;
  const width = context.measureText(data.label).width;
  context.fillStyle = ink.ground;
  context.strokeStyle = ink.near;
  context.beginPath();
  context.roundRect(data.x - data.size - 4, data.y - size, data.size * 2 + width + 14, size * 2, size);
  context.fill();
  context.stroke();
  context.fillStyle = data.color;
  context.beginPath();
  context.arc(data.x, data.y, data.size, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = ink.text;
  context.fillText(data.label, data.x + data.size + 4, data.y + size / 3);
}

function drawPicture(choose) {
  const container = document.getElementById("graph");
  try {
    const draws = (kind) => document.createElement("canvas").getContext(kind);
    if (!draws("webgl2") && !draws("webgl")) throw new Error("no WebGL");
    drawnGraph = buildGraph(container.clientWidth);
    picture = new Sigma(drawnGraph, container, {
      allowInvalidContainer: true,
      defaultDrawNodeHover: drawHover,
      hideEdgesOnMove: relations.a.length > 5000,
      labelColor: { color: ink.text },
      labelDensity: byCommunity ? 1 : 0.6,
      labelFont: "system-ui, sans-serif",
      labelGridCellSize: byCommunity ? 240 : 100,
      labelRenderedSizeThreshold: drawnGraph.order > 2000 ? 4.5 : 6,
      labelSize: container.clientWidth < 500 ? 12 : 14,
      maxCameraRatio: 3,
      minCameraRatio: 0.01,
      nodeReducer: reduceNode,
      edgeReducer: reduceEdge,
      stagePadding: 20,
      zIndex: true,
    });
  } catch (error) {
    withoutPicture("This browser draws no WebGL, so there is no picture; the table has everything.");
    return;
  }
  // The timer of a frame runs behind its painting.
  requestAnimationFrame(() => setTimeout(() => {
    document.documentElement.dataset.firstFrame = String(Math.round(performance.now()));
  }, 0));
  picture.on("clickNode", ({ node }) => choose(Number(node)));
  picture.on("clickStage", () => choose(null));
  picture.on("enterNode", () => container.classList.add("over"));
  picture.on("leaveNode", () => container.classList.remove("over"));
  dark.addEventListener("change", () => {
    ink = inks();
    picture.setSetting("labelColor", { color: ink.text });
    picture.refresh();
  });
  moveByKeys(container);
}

function withoutPicture(sentence) {
  const said = document.getElementById("no-picture");
  said.textContent = sentence;
  said.hidden = false;
  document.getElementById("graph").hidden = true;
  document.getElementById("zoom").hidden = true;
  document.documentElement.dataset.firstFrame = "none";
}

function moveByKeys(container) {
  const camera = picture.getCamera();
  const how = () => ({ duration: still.matches ? 0 : 150 });
  const moves = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
  const actions = {
    "+": () => camera.animatedZoom(how()),
    "=": () => camera.animatedZoom(how()),
    "-": () => camera.animatedUnzoom(how()),
    "0": () => camera.animatedReset(how()),
  };
  container.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moves[event.key];
    if (move) {
      const { x, y, ratio } = camera.getState();
      camera.setState({ x: x + move[0] * ratio, y: y + move[1] * ratio });
    } else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  });
  document.getElementById("closer").addEventListener("click", actions["+"]);
  document.getElementById("farther").addEventListener("click", actions["-"]);
  document.getElementById("whole").addEventListener("click", actions["0"]);
}

// Dims all but a node and its neighbours; null shows everything.
function focusOn(node, { approach = false } = {}) {
  if (!picture) return;
  nodeInFocus = node === null || node < 0 ? null : String(node);
  nodesInFocus = new Set(nodeInFocus === null ? [] : [nodeInFocus, ...drawnGraph.neighbors(nodeInFocus)]);
  picture.refresh({ skipIndexation: true });
  if (nodeInFocus === null || !approach || !visibleNode(node)) return;
  picture.getCamera().animate(frameOf([...nodesInFocus]), { duration: still.matches ? 0 : 400 });
}

// The place of the camera from which some nodes fill the picture, with room for labels; never all that near or far.
function frameOf(nodes) {
  const places = nodes.map((node) => picture.getNodeDisplayData(node)).filter((place) => !place.hidden);
  const camera = picture.getCamera().getState();
  const { width, height } = picture.getDimensions();
  const [zero, one] = [0, 1].map((at) => picture.framedGraphToViewport({ x: at, y: at }));
  const spans = ["x", "y"].map((axis) => {
    const along = places.map((place) => place[axis]);
    return [Math.min(...along), Math.max(...along)];
  });
  const [wide, high] = spans.map(([low, top]) => top - low);
  const needed = Math.max(
    (wide * Math.abs(one.x - zero.x)) / Math.max(width - 160, width / 2),
    (high * Math.abs(one.y - zero.y)) / (height - 60),
  );
  const [x, y] = spans.map(([low, top]) => (low + top) / 2);
  return { x, y, ratio: Math.min(1, Math.max(0.1, camera.ratio * needed)) };
}
