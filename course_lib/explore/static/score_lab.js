import { View, clamp, colour, html, ink, own, softmax, svg } from "./shared.js";

const REACH = 3, SIZE = 270, STEP = 0.1;
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
  const left = view.select("left", KINDS, (value) => view.set({ left: value }));
  const right = view.select("right", KINDS, (value) => view.set({ right: value }));
  const axis = Array.from({ length: 61 }, (_, at) => round(-REACH + at * STEP));
  const across = view.slider("query_x", axis, (value) => move(value, view.get("query")[1]));
  const along = view.slider("query_y", axis, (value) => move(view.get("query")[0], value));
  const cells = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([row, column]) => {
    const node = html("input", { type: "number", step: 0.1, min: -5, max: 5 });
    return [row, column, view.control(`w${row}${column}`, node, "change", () => {
      const W = view.get("W").map((line) => [...line]);
      // An empty or absurd entry goes back to what it was.
      if (node.value === "" || Math.abs(+node.value) > 5) node.value = W[row][column];
      W[row][column] = +node.value;
      view.set({ W });
    })];
  });
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
    keys.forEach(([p, q], at) => {
      chart.append(svg("circle", { cx: place(p), cy: place(-q), r: 6, fill: "var(--paper)", stroke: "var(--ink)", "stroke-width": 2 }));
      chart.append(svg("text", { x: place(p) + 10, y: place(-q) - 8, class: "strong" }, `k${at + 1}`));
    });
    // The contexts differ in shape and in name, not in colour alone.
    const [first, second] = found.map(({ context }) => [place(context[0]), place(-context[1])]);
    chart.append(svg("rect", { x: first[0] - 6, y: first[1] - 6, width: 12, height: 12, fill: "var(--mark)", stroke: "var(--paper)", "data-context": "left" }));
    chart.append(svg("text", { x: first[0] - 9, y: first[1] - 8, "text-anchor": "end" }, "c1"));
    chart.append(svg("path", { d: `M${second[0]} ${second[1] - 9}l8 9l-8 9l-8 -9z`, fill: "none", stroke: "var(--mark)", "stroke-width": 3, "data-context": "right" }));
    chart.append(svg("text", { x: second[0] + 10, y: second[1] + 16 }, "c2"));
    const handle = own(svg("g", { tabindex: 0, role: "button", "data-key": "query", "aria-label": view.say("handle", { x: x.toFixed(2), y: y.toFixed(2) }) }));
    handle.style.cursor = "grab";
    handle.append(svg("line", { x1: place(0), y1: place(0), x2: place(x), y2: place(-y), stroke: "var(--line)", "stroke-width": 3 }));
    handle.append(svg("circle", { cx: place(x), cy: place(-y), r: 9, fill: "var(--line)", stroke: "var(--paper)", "stroke-width": 2 }));
    handle.append(svg("text", { x: place(x) + 12, y: place(-y) + 5, class: "strong" }, "q"));
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by) return;
      event.preventDefault();
      const size = STEP * (event.shiftKey ? 5 : 1);
      move(x + by[0] * size, y + by[1] * size);
    });
    chart.append(handle);
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
    const grid = html("table"), top = html("thead"), head = html("tr"), body = html("tbody");
    head.append(html("th", { scope: "col" }, view.say("key")));
    found.forEach(({ kind }, at) => {
      for (const name of ["score", "weight"]) head.append(html("th", { scope: "col" }, `${at + 1}: ${view.say(kind)}, ${view.say(name)}`));
    });
    top.append(head);
    keys.forEach((key, at) => {
      const line = html("tr");
      line.append(html("th", { scope: "row" }, `k${at + 1} (${key.map((part) => part.toFixed(1)).join(", ")})`));
      for (const { raw, weights } of found) {
        const cell = html("td", { "data-weight": weights[at] }, weights[at].toFixed(2));
        cell.style.background = colour(weights[at]);
        cell.style.color = ink(colour(weights[at]));
        line.append(html("td", { "data-score": raw[at] }, raw[at].toFixed(2)), cell);
      }
      body.append(line);
    });
    const line = html("tr");
    line.append(html("th", { scope: "row" }, view.say("context")));
    found.forEach(({ context }, at) => line.append(html("td", { colspan: 2 }, `c${at + 1} (${context.map((part) => part.toFixed(2)).join(", ")})`)));
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
    for (const [slider, part] of [[across, x], [along, y]]) slider.show(round(Math.round(part / STEP) * STEP), part.toFixed(2));
    const used = found.some(({ kind }) => kind === "general" || kind === "additive");
    for (const [row, column, node] of cells) {
      if (node !== document.activeElement || +node.value !== W[row][column]) node.value = W[row][column];
      node.disabled = !used;
    }
    el.found = found;
    view.show(plane(found), table(found));
    const words = { x: x.toFixed(2), y: y.toFixed(2) };
    for (const { side, kind, weights, context } of found) {
      const best = weights.indexOf(Math.max(...weights));
      Object.assign(words, { [side]: view.say(kind), [`${side}_key`]: best + 1, [`${side}_weight`]: weights[best].toFixed(2) });
      words[`${side}_context`] = `(${context.map((part) => part.toFixed(2)).join(", ")})`;
    }
    view.live.textContent = view.say("sentence", words);
  });
}
export default { render };
