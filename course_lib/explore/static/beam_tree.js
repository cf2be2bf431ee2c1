import { chance, fixed, own, seen, svg } from "./shared.js";

export const GOES_ON = 1, FINISHED = 2; // what becomes of a candidate, as in Python; 0 where it is left out
const MOST_NODES = 64; // that are drawn at once
const PITCH = 30, HIGH = 22, GAP = 38, FLAG = 40, TOP = 26; // pixels: row to row, a node, between columns, a score, above
const FAINT = 0.2; // the least opacity of a line that can be seen
const KINDS = ["left", "open", "best"]; // what is drawn later lies above

export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The nodes from the root to this one, with both. nodes: [parent, id, log-probability, sum], the root first. */
export function ancestors(nodes, node) {
  const way = [node];
  while (way[0] > 0) way.unshift(nodes[way[0]][0]);
  return way;
}

/** The texts finished in these steps, the highest score first; of equal scores the one that was finished first. */
export function finished(nodes, steps, alpha) {
  const found = steps.flatMap((step, at) => step.filter(([, fate]) => fate === FINISHED).map(([node]) => {
    const total = nodes[node][3];
    return { node, length: at + 1, total, score: total / ((6 + at) / 6) ** alpha };
  }));
  const rank = ({ score }) => Math.floor(score * 1e9 + 0.5); // the last bits, which Python may have otherwise, decide nothing
  return found.sort((one, other) => rank(other) - rank(one));
}

/** {node: [column, row, kind]} of what is drawn: of too many, those leave first that never went on, then those that led nowhere, the oldest and least likely first. */
export function onShow(nodes, steps, alpha) {
  const ended = finished(nodes, steps, alpha).map(({ node }) => node), kinds = new Map();
  const going = steps.length ? steps.at(-1).filter(([, fate]) => fate === GOES_ON).map(([node]) => node) : [0];
  for (const end of [...going, ...ended]) for (const node of ancestors(nodes, end)) kinds.set(node, "open");
  for (const end of ended.slice(0, 1)) for (const node of ancestors(nodes, end)) kinds.set(node, "best");
  const places = [[0, 0, 0], ...steps.flatMap((step, at) => step.map(([node], row) => [node, at + 1, row]))];
  const went = new Set(steps.flat().filter(([, fate]) => fate === GOES_ON).map(([node]) => node)), worth = ([node]) => 2 * kinds.has(node) || +went.has(node);
  const order = [...places].sort((one, other) => worth(one) - worth(other) || one[1] - other[1] || other[2] - one[2]);
  const out = new Set(order.map(([node]) => node).filter((node) => node).slice(0, Math.max(0, order.length - MOST_NODES)));
  return new Map(places.filter(([node]) => !out.has(node)).map(([node, column, row]) => [node, [column, row, kinds.get(node) ?? "left"]]));
}

/** The node of a text of ids, or of its longest beginning among the nodes that are drawn. */
export function lookedAt(nodes, drawn, path) {
  let at = 0;
  for (const token of path) {
    const next = [...drawn.keys()].find((node) => node && nodes[node][0] === at && nodes[node][1] === token);
    if (next === undefined) break;
    at = next;
  }
  return at;
}

/** What of an answer is on show in the present state, and how its nodes are said. */
export function look(view, { nodes, symbols, texts, widths, next }) {
  const every = widths[view.get("width")], steps = every.slice(0, view.get("step")), alpha = view.get("alpha"), eos = view.get("eos");
  const drawn = onShow(nodes, steps, alpha), ended = finished(nodes, steps, alpha), symbol = (token) => seen(symbols[token]);
  const path = (node) => ancestors(nodes, node).slice(1).map((one) => nodes[one][1]);
  return {
    nodes, every, steps, drawn, ended, next, symbol, path, place: lookedAt(nodes, drawn, view.get("node")),
    scores: new Map(ended.map(({ node, score }) => [node, fixed(score)])), fates: new Map(steps.flat()),
    token: (node) => (node ? symbol(nodes[node][1]) : view.say("start")),
    prefix: (node) => path(node).filter((token) => token !== eos).map(symbol).join(" "),
    text: (node) => texts[node] + (nodes[node][1] === eos ? "" : " …"),
  };
}

/** A node: all are one stop of the tab key, arrows go to the best that follows, to its parent, and along the step. */
function choosable(view, shown, node, column, row) {
  const { nodes, drawn, ended, fates, scores, place } = shown, key = (one) => `node-${shown.path(one).join("-")}`;
  const fate = scores.has(node) ? view.say("ended", { score: scores.get(node) }) : view.say(fates.get(node) === GOES_ON ? "goes_on" : "left");
  const values = { token: shown.token(node), column, row: row + 1, chance: chance(Math.exp(nodes[node][2])), sum: fixed(nodes[node][3]), fate };
  const group = own(svg("g", {
    role: "button", tabindex: node === place ? 0 : -1, "data-key": key(node), "aria-pressed": node === place,
    "aria-label": node ? view.say("node", values) : shown.token(0),
  }));
  group.style.cursor = "pointer";
  group.append(svg("title", {}, group.getAttribute("aria-label"))); // beside the mouse
  const go = (to) => view.set({ node: shown.path(to) });
  group.addEventListener("click", () => go(node));
  group.addEventListener("keydown", (event) => {
    const all = [...drawn].map(([one, [at, down]]) => ({ one, at, down })).sort((first, second) => first.down - second.down);
    const beside = all.filter(({ at }) => at === column), mine = beside.findIndex(({ one }) => one === node);
    const to = {
      ArrowRight: all.find(({ one }) => one && nodes[one][0] === node), ArrowLeft: all.find(({ one }) => one === nodes[node][0]),
      ArrowUp: beside[mine - 1], ArrowDown: beside[mine + 1], Home: { one: 0 },
      End: ended.length ? { one: ended[0].node } : all.find(({ at }) => at === shown.steps.length),
    };
    if (!Object.hasOwn(to, event.key)) return;
    event.preventDefault();
    const there = to[event.key]?.one ?? node;
    go(there);
    view.stage.querySelector(`[data-key="${key(there)}"]`)?.focus({ preventScroll: true });
  });
  return group;
}

/** Steps from left to right, the best of each on top; all of them have room from the start, so that nothing moves. */
export function tree(view, shown) {
  const { nodes, every, steps, drawn, place, scores } = shown;
  const columns = [[0], ...every.map((step) => step.map(([node]) => node))], rows = Math.max(...every.map((step) => step.length));
  const sizes = columns.map((column) => Math.max(...column.map((node) => wide(cut(shown.token(node))))) + (column[0] ? 58 : 16));
  const flagged = [false, ...every.map((step) => step.some(([, fate]) => fate === FINISHED))]; // columns where scores will stand
  const ends = sizes.map((_, at) => 4 + sum(sizes.slice(0, at + 1)) + GAP * at + FLAG * flagged.slice(0, at).filter(Boolean).length);
  const x = (column) => ends[column] - sizes[column], y = (row) => TOP + (row + 0.5) * PITCH;
  const across = ends.at(-1) + (flagged.at(-1) ? FLAG : 0) + 8, down = TOP + rows * PITCH + 2;
  const chart = svg("svg", { viewBox: `0 0 ${across} ${down}`, width: across, height: down, role: "group", "aria-label": view.say("tree") });
  const text = (x, y, shown, more = {}) => svg("text", { x, y, ...more }, shown);
  chart.append(svg("rect", { x: x(1) - 10, y: TOP, width: across - x(1) + 8, height: view.get("width") * PITCH, rx: 6, fill: "var(--line)", "fill-opacity": 0.1 }));
  every.forEach((_, at) => chart.append(text(x(at + 1) + sizes[at + 1] / 2, 16, at + 1, { "text-anchor": "middle", ...(at + 1 === steps.length ? { class: "strong", "data-now-step": at + 1 } : {}) })));
  const order = [...drawn].sort(([, [, , one]], [, [, , other]]) => KINDS.indexOf(one) - KINDS.indexOf(other));
  for (const [node, [column, row, kind]] of order) {
    if (!node) continue;
    const share = Math.exp(nodes[node][2]), from = drawn.get(nodes[node][0]), [to, level] = [x(column), y(row)];
    const [out, start] = from ? [ends[from[0]], y(from[1])] : [to - GAP / 3, level], half = (to - out) / 2;
    const look = kind === "left" ? { stroke: "var(--rule)", "stroke-width": 1 + 2 * share } : { stroke: "var(--line)", "stroke-width": 1 + 5 * share };
    chart.append(svg("path", {
      d: `M${out} ${start}C${out + half} ${start} ${to - half} ${level} ${to} ${level}`, fill: "none", "data-edge": kind,
      "stroke-opacity": kind === "best" ? 1 : FAINT + (1 - FAINT) * share, ...look,
    }));
  }
  for (const [node, [column, row, kind]] of order) {
    const left = x(column), end = ends[column], middle = y(row), group = choosable(view, shown, node, column, row);
    const ink = { best: "fill: var(--paper)", left: "fill: var(--rule)", open: "" }[kind], box = { y: middle - HIGH / 2, height: HIGH };
    if (scores.has(node)) { // a flag behind which nothing follows
      group.append(svg("rect", { ...box, x: end - 5, width: FLAG + 5, rx: 5, fill: "var(--ink)" }));
      group.append(text(end + FLAG / 2, middle + 4, scores.get(node), { "text-anchor": "middle", style: "font-size: 11px; font-weight: 600; fill: var(--paper)" }));
    }
    group.append(svg("rect", { ...box, x: left, width: end - left, rx: 5, fill: kind === "best" ? "var(--line)" : "var(--paper)", stroke: kind === "left" ? "none" : "var(--line)", "stroke-width": 1.5 }));
    group.append(text(left + 8, middle + 4.5, cut(shown.token(node)), { style: `font-size: 13px; ${ink}` }));
    if (node) group.append(text(end - 7, middle + 4, chance(Math.exp(nodes[node][2])), { "text-anchor": "end", style: `font-size: 11px; ${ink}`, "data-chance": Math.exp(nodes[node][2]) }));
    if (node === place) group.append(svg("rect", { x: left - 3, y: box.y - 3, width: end - left + 6 + (scores.has(node) ? FLAG : 0), height: HIGH + 6, rx: 7, fill: "none", stroke: "var(--mark)", "stroke-width": 2.5 }));
    chart.append(group);
  }
  return chart;
}

export function cut(token) {
  const letters = [...token];
  return letters.length > 9 ? `${letters.slice(0, 8).join("")}…` : token;
}
/** Pixels that a text takes, a Korean letter more than a Latin one. */
export const wide = (text) => sum([...text].map((letter) => (letter < "\u1100" ? 7.8 : 13)));
