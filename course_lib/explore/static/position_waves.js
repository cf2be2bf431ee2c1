import { View, clamp, colour, colourBar, fixed, html, ink, mosaic, softmax, svg } from "./shared.js";

const BASES = [100, 1000, 10000, 100000];
const CLOCKS = 5; // from the fastest pair to the slowest
const ACROSS = 330, UP = 220, EDGE = { left: 40, right: 12, top: 26, bottom: 38 };
const STRIP = 2.5; // the entries of a vector are drawn from -STRIP to STRIP

/** By how many radians the hand of a pair turns from one position to the next. */
export const frequency = (pair, width, base) => base ** ((-2 * pair) / width);

/** PE[position][dimension]: sine in even dimensions, cosine in odd ones. */
export const encoding = (count, width, base) => Array.from({ length: count }, (_, at) => Array.from({ length: width }, (_, to) => {
  const angle = at * frequency(Math.floor(to / 2), width, base);
  return to % 2 ? Math.cos(angle) : Math.sin(angle);
}));

/** The pairs that get a clock: CLOCKS of them from the fastest to the slowest, and the chosen one. */
export function clocks(pairs, chosen) {
  const count = Math.min(CLOCKS, pairs);
  const spread = Array.from({ length: count }, (_, at) => (count > 1 ? Math.floor((at * (pairs - 1)) / (count - 1) + 0.5) : 0));
  return [...new Set([...spread, chosen])].sort((a, b) => a - b);
}

const dot = (a, b) => a.reduce((sum, part, at) => sum + part * b[at], 0);
const times = (rows, W) => rows.map((row) => W[0].map((_, to) => row.reduce((sum, part, at) => sum + part * W[at][to], 0)));

/** Outputs of one self-attention over the rows of X, without mask. */
export function selfAttention(X, { W_Q, W_K, W_V }) {
  const [query, key, value] = [W_Q, W_K, W_V].map((W) => times(X, W));
  return times(query.map((q) => softmax(key.map((k) => dot(q, k) / Math.sqrt(q.length)))), value);
}

/** The verb's vector after self-attention over the sentence in that order; the verb is the last token. */
export function verbOf(vectors, order, added, base) {
  const places = encoding(order.length, vectors.X[0].length, base);
  const X = order.map((token, at) => vectors.X[token].map((part, to) => part + (added ? places[at][to] : 0)));
  return selfAttention(X, vectors)[order.indexOf(order.length - 1)];
}

const turnOf = (speed) => { const turn = (2 * Math.PI) / speed; return turn < 1000 ? turn.toFixed(1) : String(Math.floor(turn + 0.5)); };

function render({ model, el }) {
  const view = new View(model, el, "position_waves");
  const count = view.get("n_positions"), width = view.get("d_model"), tokens = view.get("tokens"), orders = view.get("orders");
  const spell = (order, number) => order.map((token, at) => (number ? `${tokens[token]}+PE(${at})` : tokens[token])).join(" ");
  const position = view.slider("position", [...Array(count).keys()], (value) => view.set({ position: value }));
  const pair = view.slider("pair", [...Array(width / 2).keys()], (value) => view.set({ pair: value }));
  const base = view.slider("base", BASES, (value) => view.set({ base: value }));
  view.reset();
  // The bag of words is a part of its own, with its controls above it.
  const words = html("div", { class: "controls" }), bag = html("div");
  words.style.cssText = "border-top: 1px solid var(--rule); margin: 1em 0 0.6em; padding-top: 0.7em";
  view.live.before(words, bag);
  view.into = words;
  const shuffle = view.slider("shuffle", [...orders.keys()], (value) => view.set({ shuffle: value }));
  const added = view.checkbox("added", (value) => view.set({ added: value }));
  let heat = null; // {base, cells}: thousands of cells, drawn once for each base

  const title = (text) => html("div", { class: "title" }, text);
  function chart(name, text, draw) {
    const drawing = svg("svg", { viewBox: `0 0 ${ACROSS} ${UP}`, width: ACROSS, height: UP, role: "img", "aria-label": `${name}: ${text}` });
    draw((tag, attributes, inner) => drawing.append(svg(tag, attributes, inner)), drawing);
    const box = html("div", { class: "chart" });
    box.style.cssText = "flex: 1 1 270px; max-width: 368px; align-self: flex-start";
    box.append(title(name), drawing);
    return box;
  }

  function picture(waves, at, chosen) {
    const wide = (ACROSS - EDGE.left - EDGE.right) / width, tall = (UP - EDGE.bottom - 8) / count, floor = 8 + tall * count;
    if (heat?.base !== view.get("base")) heat = { base: view.get("base"), cells: mosaic(waves, (value) => (value + 1) / 2) };
    const box = chart(view.say("heat"), view.say("heat_label", { count, width, position: at, pair: chosen }), (put, drawing) => {
      heat.cells.setAttribute("transform", `translate(${EDGE.left} 8) scale(${wide} ${tall})`);
      drawing.append(heat.cells);
      for (const [stroke, thick, dash] of [["#ffffff", 3, "none"], ["#000000", 1.5, "4 3"]]) {
        put("rect", { x: EDGE.left + 2 * chosen * wide, y: 6, width: 2 * wide, height: floor - 4, fill: "none", stroke, "stroke-width": thick, "stroke-dasharray": dash });
      }
      for (const [stroke, thick] of [["#000000", 3.5], ["#ffffff", 1.5]]) { // around the row, which stays in sight
        put("rect", { x: EDGE.left - 2, y: 5.5 + at * tall, width: wide * width + 4, height: tall + 5, fill: "none", stroke, "stroke-width": thick });
      }
      put("text", { x: EDGE.left - 5, y: 8 + (at + 0.5) * tall + 4, "text-anchor": "end", class: "strong" }, `▸${at}`);
      for (const end of [0, count - 1]) if (Math.abs(end - at) * tall > 14) put("text", { x: EDGE.left - 5, y: 8 + (end + 0.5) * tall + 4, "text-anchor": "end" }, end);
      put("text", { x: EDGE.left + (2 * chosen + 1) * wide, y: floor + 15, "text-anchor": "middle", class: "strong" }, `${2 * chosen}, ${2 * chosen + 1}`);
      put("text", { x: ACROSS / 2, y: UP - 4, "text-anchor": "middle" }, view.say("dimension"));
      put("text", { x: 10, y: UP / 2 - 12, "text-anchor": "middle", transform: `rotate(-90 10 ${UP / 2 - 12})` }, view.say("position"));
    });
    box.append(colourBar("−1", "1"));
    return box;
  }

  /** The frame of a curve: {x, y} in pixels, with the axes drawn. */
  function axes(put, [from, to], [low, high], marks, label) {
    const floor = UP - EDGE.bottom;
    const x = (value) => EDGE.left + ((value - from) / (to - from || 1)) * (ACROSS - EDGE.left - EDGE.right);
    const y = (value) => floor - ((value - low) / (high - low)) * (floor - EDGE.top);
    for (const mark of marks) {
      put("line", { x1: EDGE.left, x2: ACROSS - EDGE.right, y1: y(mark), y2: y(mark), stroke: "var(--rule)", "stroke-opacity": mark ? 0.35 : 1 });
      put("text", { x: EDGE.left - 5, y: y(mark) + 4, "text-anchor": "end" }, String(+mark.toFixed(1)).replace("-", "−"));
    }
    for (const end of new Set([from, Math.round((from + to) / 2), to])) put("text", { x: x(end), y: floor + 16, "text-anchor": "middle" }, String(end).replace("-", "−"));
    put("text", { x: (ACROSS + EDGE.left - EDGE.right) / 2, y: UP - 4, "text-anchor": "middle" }, label);
    return { x, y };
  }
  const line = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  /** Names of two curves above them, each with a piece of its line. */
  function legend(put, names) {
    names.forEach(([look, name], at) => {
      const x = EDGE.left + at * 140;
      put("line", { x1: x, x2: x + 24, y1: 9, y2: 9, "stroke-width": 2.5, ...look });
      put("text", { x: x + 30, y: 13 }, name);
    });
  }
  const FIRST = { stroke: "var(--line)", "stroke-dasharray": "none" }, SECOND = { stroke: "var(--mark)", "stroke-dasharray": "6 4" };

  function curves(at, chosen, row) {
    const speed = frequency(chosen, width, view.get("base")), values = [row[2 * chosen], row[2 * chosen + 1]];
    const fine = Array.from({ length: (count - 1) * 6 + 1 }, (_, to) => to / 6);
    return chart(view.say("waves", { pair: chosen }), `${view.say("sine")} ${fixed(values[0])}, ${view.say("cosine")} ${fixed(values[1])}`, (put) => {
      const { x, y } = axes(put, [0, count - 1], [-1, 1], [-1, 0, 1], view.say("position"));
      const end = x(at) > ACROSS * 0.75, places = values.map((value) => clamp(y(value) - 6, EDGE.top + 4, UP));
      if (Math.abs(places[0] - places[1]) < 14) places[values[0] > values[1] ? 0 : 1] = Math.min(...places) - 7, places[values[0] > values[1] ? 1 : 0] = Math.max(...places) + 10;
      put("line", { x1: x(at), x2: x(at), y1: y(1), y2: y(-1), stroke: "var(--rule)" });
      [Math.sin, Math.cos].forEach((wave, which) => put("path", { d: line(fine.map((p) => [x(p), y(wave(p * speed))])), fill: "none", "stroke-width": 2, ...[FIRST, SECOND][which] }));
      values.forEach((value, which) => {
        put(which ? "rect" : "circle", { ...(which ? { x: x(at) - 4.5, y: y(value) - 4.5, width: 9, height: 9 } : { cx: x(at), cy: y(value), r: 5 }), fill: "var(--ink)", stroke: "var(--paper)" });
        put("text", { x: x(at) + (end ? -9 : 9), y: places[which], "text-anchor": end ? "end" : "start", class: "strong halo", "data-wave": value }, `${fixed(value).replace("-", "−")}`);
      });
      legend(put, [[FIRST, view.say("sine")], [SECOND, view.say("cosine")]]);
    });
  }

  function likeness(waves, at) {
    const from = waves.map((row) => dot(waves[0], row)), here = waves.map((row) => dot(waves[at], row)), high = width / 2;
    const low = Math.min(0, ...from);
    return chart(view.say("similarity"), view.say("likeness", { position: at, near: fixed(here[at === count - 1 ? at - 1 : at + 1]), length: fixed(here[at]) }), (put) => {
      const { x, y } = axes(put, [1 - count, count - 1], [low, high], [...(low < -0.2 * high ? [low] : []), 0, high / 2, high], view.say("distance"));
      const mirrored = [...from.keys()].slice(1).reverse().map((k) => [x(-k), y(from[k])]);
      put("path", { d: line([...mirrored, ...from.map((value, k) => [x(k), y(value)])]), fill: "none", "stroke-width": 2, ...SECOND });
      here.forEach((value, other) => put("circle", { cx: x(other - at), cy: y(value), r: 2.6, fill: "var(--line)", "data-alike": value }));
      legend(put, [[{ ...FIRST, "stroke-dasharray": "3 3" }, view.say("from", { position: at })], [SECOND, view.say("from", { position: 0 })]]);
    });
  }

  /** A hand that stands at 12 at position 0 and turns with the clock: its shadow across is the sine, up the cosine. */
  function clock(which, row, chosen) {
    const [sine, cosine] = [row[2 * which], row[2 * which + 1]], box = html("div", { class: which === chosen ? "chosen" : "" });
    box.style.cssText = "padding: 4px 6px; text-align: center; font-size: 12px; line-height: 1.25; min-width: 92px";
    const turn = view.say("turn", { turn: turnOf(frequency(which, width, view.get("base"))) }), numbers = [sine, cosine].map((value) => fixed(value).replace("-", "−")).join(", ");
    const face = svg("svg", { viewBox: "-40 -40 80 80", width: 76, height: 76, role: "img", "aria-label": `${view.say("pair")} ${which}: ${numbers}` });
    face.style.cssText = "margin: 0 auto";
    const put = (tag, attributes) => face.append(svg(tag, attributes));
    put("circle", { r: 38, fill: "none", stroke: "var(--rule)", "stroke-width": 1.5 });
    for (let hour = 0; hour < 4; hour++) put("line", { x1: 0, x2: 0, y1: -38, y2: -32, stroke: "var(--rule)", transform: `rotate(${hour * 90})` });
    put("line", { x1: 0, y1: 0, x2: 33 * sine, y2: -33 * cosine, stroke: "var(--line)", "stroke-width": 4, "stroke-linecap": "round", "data-hand": which });
    put("circle", { r: 3.5, fill: "var(--ink)" });
    box.append(html("div", {}, `${view.say("pair")} ${which}`), face, html("div", {}, numbers), html("div", {}, turn));
    return box;
  }

  function sentences(vectors, distance) {
    const order = [orders[0], orders[view.get("shuffle")]], plus = view.get("added"), cell = 44;
    const drawing = svg("svg", { viewBox: `0 0 ${cell * 8 + 4} 122`, width: cell * 8 + 4, height: 122, role: "img", "aria-label": order.map((one, at) => `${spell(one, plus)}: ${vectors[at].map(fixed).join(", ")}`).join("; ") });
    vectors.forEach((vector, which) => {
      drawing.append(svg("text", { x: 2, y: 16 + which * 64, style: plus ? "font-size: 11px" : "font-size: 13px" }, spell(order[which], plus)));
      vector.forEach((value, at) => {
        const paint = colour((value + STRIP) / (2 * STRIP));
        drawing.append(svg("rect", { x: 2 + at * cell, y: 24 + which * 64, width: cell - 2, height: 26, fill: paint }));
        drawing.append(svg("text", { x: 1 + (at + 0.5) * cell, y: 41 + which * 64, "text-anchor": "middle", style: `fill: ${ink(paint)}` }, fixed(value).replace("-", "−")));
      });
    });
    bag.replaceChildren(title(view.say("verb")), drawing, html("div", { class: "title", "data-distance": distance }, view.say("apart", { distance: fixed(distance) })));
  }

  return view.run(["position", "pair", "base", "shuffle", "added"], () => {
    const [at, chosen, root, which, plus] = ["position", "pair", "base", "shuffle", "added"].map((name) => view.get(name));
    const waves = encoding(count, width, root), row = waves[at], alike = waves.map((other) => dot(row, other));
    const verbs = [orders[0], orders[which]].map((order) => verbOf(view.get("vectors"), order, plus, root));
    const distance = Math.hypot(...verbs[0].map((part, to) => part - verbs[1][to]));
    position.show(at);
    pair.show(chosen);
    base.show(root);
    shuffle.show(which, `${which}: ${spell(orders[which])}`);
    added.checked = plus;
    const hands = html("div");
    hands.style.cssText = "flex: 1 1 100%";
    const faces = html("div");
    faces.style.cssText = "display: flex; flex-wrap: wrap; gap: 0.4em";
    faces.append(...clocks(width / 2, chosen).map((one) => clock(one, row, chosen)));
    hands.append(title(view.say("clocks", { position: at })), faces);
    view.show(hands, picture(waves, at, chosen), curves(at, chosen, row), likeness(waves, at));
    sentences(verbs, distance);
    el.found = { row, alike, verbs, distance, clocks: clocks(width / 2, chosen) };
    const off = Math.max(...alike.map((value, other) => Math.abs(value - dot(waves[0], waves[Math.abs(other - at)])))), step = at < count - 1 ? 1 : -1;
    view.live.textContent = `${view.say("sentence", {
      position: at, pair: chosen, sine: fixed(row[2 * chosen]), cosine: fixed(row[2 * chosen + 1]), turn: turnOf(frequency(chosen, width, root)),
      length: fixed(alike[at]), step, near: fixed(alike[at + step]), off: fixed(off),
    })} ${view.say(plus ? "with" : "without", { text: spell(orders[which]), distance: fixed(distance), base: root })}`;
  });
}
export default { render };
