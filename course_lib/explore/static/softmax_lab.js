import { View, best, fixed, html, seen, softmax, svg } from "./shared.js";

const DIMENSIONS = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
const TEMPERATURES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10];
const SATURATED = 0.01; // a Jacobian of less than this norm lets next to no gradient through
const ACROSS = 300, UP = 210, EDGE = { left: 34, right: 10, top: 20, bottom: 38 };

/** What the softmax gets: q · k of width d_k, divided by √d_k if `root`, and by the temperature. */
export const logits = (scores, d_k, root, temperature) =>
  scores.map((score) => (score * Math.sqrt(d_k)) / (root ? Math.sqrt(d_k) : 1) / temperature);

/** In bits. */
export const entropy = (weights) => 0 - weights.reduce((sum, p) => (p > 0 ? sum + p * Math.log2(p) : sum), 0);

/** Frobenius norm of diag(p) - p pᵀ. The sum of the other weights stays exact where 1 - p would round to 0. */
export function jacobianNorm(weights) {
  let squares = 0;
  weights.forEach((p, at) => {
    let rest = 0;
    weights.forEach((other, to) => {
      if (to === at) return;
      rest += other;
      squares += (p * other) ** 2;
    });
    squares += (p * rest) ** 2;
  });
  return Math.sqrt(squares);
}

export function variance(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
}

/** Three digits, or the power of ten where those would be zeros. */
const small = (value) => (value === 0 || value >= 0.001 ? value.toFixed(3) : value.toExponential(0));
const plain = (value) => (value < 1000 ? String(+fixed(value)) : String(Math.floor(value + 0.5)));

function render({ model, el }) {
  const view = new View(model, el, "softmax_lab");
  const scores = view.get("scores"), tokens = view.get("tokens").map(seen);
  const warmth = view.slider("temperature", TEMPERATURES, (value) => view.set({ temperature: value }));
  const width = view.slider("d_k", DIMENSIONS, (value) => view.set({ d_k: value }));
  const root = view.checkbox("root", (value) => view.set({ root: value }));
  view.reset();

  function table(raw, given, weights) {
    const grid = html("table"), top = html("thead"), head = html("tr"), body = html("tbody");
    for (const name of ["key", "product", "score", "weight"]) head.append(html("th", { scope: "col" }, view.say(name)));
    top.append(head);
    tokens.forEach((token, at) => {
      const line = html("tr"), cell = html("td");
      const name = html("th", { scope: "row" }, token.length > 12 ? `${token.slice(0, 11)}…` : token);
      name.style.whiteSpace = "nowrap";
      line.append(name);
      line.append(html("td", {}, fixed(raw[at])), html("td", { "data-score": given[at] }, fixed(given[at])));
      const box = html("div");
      box.style.cssText = "display: flex; align-items: center; gap: 0.4em; width: 8em";
      const bar = html("span"), number = html("span", { "data-weight": weights[at] }, fixed(weights[at]));
      // What the number needs is left free, so that a weight of 1 fits too.
      bar.style.cssText = `height: 1em; background: var(--line); width: calc(${weights[at]} * (100% - 2.6em))`;
      box.append(bar, number);
      cell.append(box);
      line.append(cell);
      body.append(line);
    });
    grid.append(top, body);
    return grid;
  }

  /** One value against d_k, with the root (solid, dots) and without (dashed, squares); `now` is where we are. */
  function chart(name, high, curves, now) {
    const title = view.say(name), floor = UP - EDGE.bottom;
    const x = (at) => EDGE.left + 8 + (at / (DIMENSIONS.length - 1)) * (ACROSS - EDGE.left - EDGE.right - 16);
    const y = (value) => floor - (value / high) * (floor - EDGE.top);
    const drawing = svg("svg", { viewBox: `0 0 ${ACROSS} ${UP}`, width: ACROSS, height: UP, role: "img", "aria-label": `${title}: ${now.text}` });
    for (const part of [0, 0.5, 1]) {
      drawing.append(svg("line", { x1: EDGE.left, x2: ACROSS - EDGE.right, y1: y(part * high), y2: y(part * high), stroke: "var(--rule)", "stroke-opacity": part ? 0.35 : 1 }));
      drawing.append(svg("text", { x: EDGE.left - 5, y: y(part * high) + 4, "text-anchor": "end" }, String(+fixed(part * high))));
    }
    DIMENSIONS.forEach((value, at) => at % 2 || drawing.append(svg("text", { x: x(at), y: floor + 16, "text-anchor": "middle" }, value)));
    drawing.append(svg("text", { x: ACROSS / 2 + 10, y: UP - 4, "text-anchor": "middle" }, "d_k"));
    curves.forEach((values, which) => {
      const path = values.map((value, at) => `${at ? "L" : "M"}${x(at)} ${y(value)}`).join("");
      const stroke = which ? "var(--mark)" : "var(--line)";
      drawing.append(svg("path", { d: path, fill: "none", stroke, "stroke-width": 2.5, "stroke-dasharray": which ? "6 4" : "none" }));
      values.forEach((value, at) => drawing.append(which
        ? svg("rect", { x: x(at) - 3.5, y: y(value) - 3.5, width: 7, height: 7, fill: "var(--paper)", stroke, "stroke-width": 2 })
        : svg("circle", { cx: x(at), cy: y(value), r: 3.5, fill: stroke })));
    });
    const place = [x(DIMENSIONS.indexOf(now.d_k)), y(now.value)];
    drawing.append(svg("circle", { cx: place[0], cy: place[1], r: 9, fill: "none", stroke: "var(--ink)", "stroke-width": 2 }));
    // Each curve's name stands below its right part, or above it, and above the ring, where there is no room.
    const ends = curves.map((values) => y(values[6]) + (y(values[6]) > floor - 24 ? -14 : 20));
    if (Math.abs(ends[0] - ends[1]) < 15) ends[0] = Math.max(10, ends[1] - 15);
    curves.forEach((_, which) => drawing.append(svg("text", { x: x(8), y: ends[which], "text-anchor": "end" }, view.say(which ? "without_root" : "with_root"))));
    const box = html("div", { class: "chart" });
    box.append(html("div", { class: "title" }, `${title}: ${now.text}`), drawing);
    return box;
  }

  return view.run(["temperature", "d_k", "root"], () => {
    const temperature = view.get("temperature"), d_k = view.get("d_k"), divided = view.get("root");
    const near = TEMPERATURES.reduce((found, value) => (Math.abs(value - temperature) < Math.abs(found - temperature) ? value : found));
    warmth.show(near, plain(temperature));
    width.show(d_k);
    root.checked = divided;
    const raw = logits(scores, d_k, false, 1), given = logits(scores, d_k, divided, temperature), weights = softmax(given);
    const curves = [true, false].map((way) => DIMENSIONS.map((value) => softmax(logits(scores, value, way, temperature))));
    const now = { entropy: entropy(weights), norm: jacobianNorm(weights), variance: variance(given) };
    el.found = { given, weights, ...now, curves: curves.map((ways) => ways.map((shares) => [entropy(shares), jacobianNorm(shares)])) };
    const bits = Math.log2(scores.length);
    const said = {
      d_k, how: view.say(divided ? "divided" : "raw"), temperature: plain(temperature), variance: plain(now.variance),
      token: tokens[best(weights)], share: fixed(weights[best(weights)]), entropy: fixed(now.entropy), most: fixed(bits), norm: small(now.norm),
    };
    const figures = ["entropy", "norm"].map((name, part) => chart(
      name, name === "norm" ? 0.5 : Math.max(1, bits), el.found.curves.map((curve) => curve.map((point) => point[part])),
      { d_k, value: now[name], text: said[name] },
    ));
    const left = html("div");
    left.append(html("div", { class: "title" }, view.say("scores", said)), view.scroll(view.say("weight"), table(raw, given, weights)));
    const right = html("div"); // beside the table where there is room for both charts, else below it
    right.style.cssText = "flex: 1 1 600px; display: flex; flex-wrap: wrap; gap: 0.6em 1em";
    for (const figure of figures) figure.style.cssText = "flex: 1 1 250px; max-width: 340px";
    right.append(...figures);
    view.show(left, right);
    const ending = now.norm >= SATURATED ? "" : ` ${view.say(scores.length > 1 ? "saturated" : "alone")}`;
    view.live.textContent = view.say("sentence", said) + ending;
  });
}
export default { render };
