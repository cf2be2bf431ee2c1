import { View, best, clamp, colour, fixed, html, ink, own, softmax, svg } from "./shared.js";

const REACH = 3, SIZE = 250, STEP = 0.1;
const KINDS = ["dot", "general", "additive", "scaled"];
const round = (value) => Math.round(value * 100) / 100;
const place = (value) => ((value + REACH) / (2 * REACH)) * SIZE;

export function scores(kind, [x, y], keys, [[a, b], [c, d]]) {
  if (kind === "additive") return keys.map(([p, q]) => Math.tanh(a * x + b * y + p) + Math.tanh(c * x + d * y + q));
  if (kind === "general") return keys.map(([p, q]) => (x * a + y * c) * p + (x * b + y * d) * q);
  return keys.map(([p, q]) => (x * p + y * q) / (kind === "scaled" ? Math.SQRT2 : 1));
}

function render({ model, el }) {
  const view = new View(model, el, "score_lab");
  const keys = model.get("points"), values = model.get("values");
  const move = (x, y) => view.set({ query: [x, y].map((part) => round(clamp(part, -REACH, REACH))) });
  const axis = Array.from({ length: 61 }, (_, at) => round(-REACH + at * STEP));
  let left, right, across, along, cells;
  view.group(2, () => {
    left = view.select("left", KINDS, (value) => view.set({ left: value }));
    right = view.select("right", KINDS, (value) => view.set({ right: value }));
  });
  view.group(3, () => {
    across = view.slider("query_x", axis, (value) => move(value, view.get("query")[1]));
    along = view.slider("query_y", axis, (value) => move(view.get("query")[0], value));
  });
  view.group(4, () => { cells = [[0, 0], [0, 1], [1, 0], [1, 1]].map(entry); });

  /** An input for one number of W. */
  function entry([row, column]) {
    const node = html("input", { type: "number", step: 0.1, min: -5, max: 5 });
    return [row, column, view.control(`w${row}${column}`, node, "change", () => {
      const W = view.get("W").map((line) => [...line]);
      // An empty or absurd entry goes back to what it was.
      if (node.value === "" || Math.abs(+node.value) > 5) node.value = W[row][column];
      W[row][column] = +node.value;
      view.set({ W });
    })];
  }
  view.reset();
  let held = false;

  function plane(found) {
    const [x, y] = view.get("query");
    const chart = svg("svg", { viewBox: `-6 -6 ${SIZE + 12} ${SIZE + 12}`, width: SIZE + 12, height: SIZE + 12, role: "group", "aria-label": view.say("plane") });
    chart.style.touchAction = "none"; // a finger that drags does not scroll
    chart.append(svg("rect", { x: 0, y: 0, width: SIZE, height: SIZE, fill: "none", stroke: "var(--rule)" }));
    for (let at = -REACH; at <= REACH; at++) {
      const line = { stroke: "var(--rule)", "stroke-opacity": at ? 0.3 : 1 };
      chart.append(svg("line", { x1: place(at), x2: place(at), y1: 0, y2: SIZE, ...line }));
      chart.append(svg("line", { y1: place(at), y2: place(at), x1: 0, x2: SIZE, ...line }));
      if (at && Math.abs(at) < REACH) chart.append(svg("text", { x: place(at), y: SIZE / 2 + 14, "text-anchor": "middle" }, at));
      if (at && Math.abs(at) < REACH) chart.append(svg("text", { x: SIZE / 2 - 5, y: place(-at) + 4, "text-anchor": "end" }, at));
    }
    const handle = own(svg("g", { tabindex: 0, role: "button", "data-key": "query", "aria-label": view.say("handle", { x: fixed(x), y: fixed(y) }) }));
    handle.style.cursor = "grab";
    handle.append(svg("line", { x1: place(0), y1: place(0), x2: place(x), y2: place(-y), stroke: "var(--line)", "stroke-width": 3 }));
    handle.append(svg("circle", { cx: place(x), cy: place(-y), r: 9, fill: "var(--line)", stroke: "var(--paper)", "stroke-width": 2 }));
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by) return;
      event.preventDefault();
      const size = STEP * (event.shiftKey ? 5 : 1);
      move(x + by[0] * size, y + by[1] * size);
    });
    chart.append(handle);
    // Keys lie on the query, and the names on all, so that nothing hides where points meet.
    for (const [p, q] of keys) chart.append(svg("circle", { cx: place(p), cy: place(-q), r: 5, fill: "var(--paper)", stroke: "var(--ink)", "stroke-width": 2 }));
    // The contexts differ in shape and in name, not in colour alone.
    const [first, second] = found.map(({ context }) => [place(context[0]), place(-context[1])]);
    chart.append(svg("rect", { x: first[0] - 5, y: first[1] - 5, width: 10, height: 10, fill: "var(--mark)", stroke: "var(--paper)", "data-context": "left" }));
    chart.append(svg("path", { d: `M${second[0]} ${second[1] - 8}l7 8l-7 8l-7 -8z`, fill: "none", stroke: "var(--mark)", "stroke-width": 3, "data-context": "right" }));
    const name = (px, py, text, side, strong) => chart.append(svg("text", { x: px, y: py, "text-anchor": side, class: strong ? "halo strong" : "halo" }, text));
    const outward = (px, by) => (px < 0 ? [place(px) - by, "end"] : [place(px) + by, "start"]);
    keys.forEach(([p, q], at) => {
      const [px, side] = outward(p, 7);
      name(px, place(-q) + (q < 0 ? 16 : -8), `k${at + 1}`, side, true);
    });
    const over = first[1] <= second[1]; // the higher context has its name above, the other below
    name(first[0], first[1] + (over ? -10 : 19), "c1", "middle");
    name(second[0], second[1] + (over ? 21 : -12), "c2", "middle");
    const [px, side] = outward(x, 13);
    name(px, place(-y) + 5, "q", side, true);
    return chart;
  }

  // The drawing is made anew while a hand drags, so the stage listens, not the drawing.
  const to = (event) => {
    const matrix = view.stage.querySelector("svg").getScreenCTM();
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    move((at.x / SIZE) * 2 * REACH - REACH, REACH - (at.y / SIZE) * 2 * REACH);
  };
  view.stage.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("svg")) return;
    held = true;
    view.stage.setPointerCapture(event.pointerId);
    event.preventDefault();
    to(event);
    view.stage.querySelector('[data-key="query"]').focus({ preventScroll: true });
  });
  view.stage.addEventListener("pointermove", (event) => held && to(event));
  for (const end of ["pointerup", "pointercancel"]) view.stage.addEventListener(end, () => { held = false; });

  function table(found) {
    const grid = html("table"), top = html("thead"), kinds = html("tr"), head = html("tr"), body = html("tbody");
    kinds.append(html("th", { scope: "col", rowspan: 2 }, view.say("key")));
    found.forEach(({ kind }, at) => {
      kinds.append(html("th", { scope: "colgroup", colspan: 2 }, `${at + 1}: ${view.say(kind)}`));
      for (const name of ["score", "weight"]) head.append(html("th", { scope: "col" }, view.say(name)));
    });
    top.append(kinds, head);
    keys.forEach((key, at) => {
      const line = html("tr");
      line.append(html("th", { scope: "row" }, `k${at + 1} (${key.map((part) => round(part)).join(", ")})`));
      for (const { raw, weights } of found) {
        const cell = html("td", { "data-weight": weights[at] }, fixed(weights[at]));
        cell.style.background = colour(weights[at]);
        cell.style.color = ink(colour(weights[at]));
        line.append(html("td", { "data-score": raw[at] }, fixed(raw[at])), cell);
      }
      body.append(line);
    });
    const line = html("tr");
    line.append(html("th", { scope: "row" }, view.say("context")));
    found.forEach(({ context }, at) => line.append(html("td", { colspan: 2 }, `c${at + 1} (${context.map(fixed).join(", ")})`)));
    body.append(line);
    grid.append(top, body);
    return view.scroll(view.say("weight"), grid);
  }

  return view.run(["query", "left", "right", "W"], () => {
    const [x, y] = view.get("query"), W = view.get("W");
    const found = ["left", "right"].map((side) => {
      const kind = view.get(side), raw = scores(kind, [x, y], keys, W), weights = softmax(raw);
      const context = [0, 1].map((part) => weights.reduce((sum, share, at) => sum + share * values[at][part], 0));
      return { side, kind, raw, weights, context };
    });
    left.value = found[0].kind;
    right.value = found[1].kind;
    // The sliders have a grid; a query dragged between its points stands at the nearest.
    for (const [slider, part] of [[across, x], [along, y]]) slider.show(round(Math.round(part / STEP) * STEP), fixed(part));
    const used = found.some(({ kind }) => kind === "general" || kind === "additive");
    for (const [row, column, node] of cells) {
      if (node !== document.activeElement || +node.value !== W[row][column]) node.value = W[row][column];
      node.disabled = !used;
    }
    el.found = found;
    view.show(plane(found), table(found));
    const words = { x: fixed(x), y: fixed(y) };
    for (const { side, kind, weights, context } of found) {
      const most = best(weights);
      Object.assign(words, { [side]: view.say(kind), [`${side}_key`]: most + 1, [`${side}_weight`]: fixed(weights[most]) });
      words[`${side}_context`] = `(${context.map(fixed).join(", ")})`;
    }
    view.live.textContent = view.say("sentence", words);
  });
}
export default { render };
