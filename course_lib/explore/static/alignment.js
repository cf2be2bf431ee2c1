import { View, best, clamp, colour, fixed, html, ink, own, seen, svg } from "./shared.js";

const ROW = 24, GAP = 180, BAR = 60, NUMBERS = 12; // beyond so many columns a cell has no room for its number
const FAINT = 0.15; // the least opacity of a line that can be seen

/** Rows as drawn: with `mask` the columns from `length` on get 0 and the rest sums to 1 again. */
export function shown(weights, length, mask) {
  if (!mask) return weights;
  return weights.map((row) => {
    const kept = row.map((share, at) => (at < length ? share : 0));
    const total = kept.reduce((sum, share) => sum + share, 0);
    return kept.map((share) => (total > 0 ? share / total : 0));
  });
}

function render({ model, el }) {
  const view = new View(model, el, "alignment");
  const source = model.get("source_tokens"), target = model.get("target_tokens"), length = model.get("source_length");
  const last = target.length - 1;

  /** Look at a row; one that is not decoded yet is out of reach. */
  const look = (row) => view.set({ row: clamp(row, 0, view.get("step") - 1) });
  const decode = (step) => {
    const to = clamp(step, 1, target.length);
    view.set({ step: to, row: to - 1 });
  };
  const kind = view.select("view", ["lines", "matrix"], (value) => view.set({ view: value }));
  const steps = view.slider("decoded", target.map((_, at) => at + 1), decode);
  const back = view.button("back", () => decode(view.get("step") - 1));
  const forward = view.button("forward", () => decode(view.get("step") + 1));
  const mask = length < source.length && view.checkbox("mask", (value) => view.set({ mask: value }));
  view.reset();

  /** A target token: one stop of the tab key for all, arrows between them. */
  function choosable(node, row, weights) {
    const most = best(weights[row]);
    const mine = row === view.get("row");
    own(node).setAttribute("tabindex", mine ? 0 : -1);
    node.setAttribute("data-key", `row-${row}`);
    node.setAttribute("aria-pressed", mine);
    node.setAttribute("aria-label", view.say("row_label", { token: seen(target[row]), most: seen(source[most]), share: fixed(weights[row][most]) }));
    node.addEventListener("click", () => look(row));
    node.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1, Home: -last, End: last }[event.key];
      if (!by) return;
      event.preventDefault();
      const to = clamp(row + by, 0, view.get("step") - 1);
      look(to);
      view.stage.querySelector(`[data-key="row-${to}"]`)?.focus({ preventScroll: true });
    });
    return node;
  }

  function lines(weights) {
    const row = view.get("row"), step = view.get("step");
    const side = room([...target, view.say("target")]), far = side + GAP, bars = far + room([...source, view.say("source")]);
    const high = Math.max(source.length, target.length) * ROW + 30, wide = bars + BAR + 36;
    const middle = (at) => 26 + at * ROW + ROW / 2;
    const chart = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": `${view.say("target")} → ${view.say("source")}` });
    chart.append(svg("text", { x: side - 10, y: 15, "text-anchor": "end", class: "strong" }, view.say("target")));
    chart.append(svg("text", { x: far + 10, y: 15, class: "strong" }, view.say("source")));
    for (let at = 0; at < step; at++) {
      if (at === row) continue;
      weights[at].forEach((share, to) => {
        if (share < 0.05) return;
        chart.append(svg("line", { x1: side, y1: middle(at), x2: far, y2: middle(to), stroke: "var(--rule)", "stroke-opacity": FAINT + 0.3 * share, "stroke-width": 1 + 1.5 * share }));
      });
    }
    weights[row].forEach((share, to) => {
      if (share < 0.005) return;
      chart.append(svg("line", { x1: side, y1: middle(row), x2: far, y2: middle(to), stroke: "var(--line)", "stroke-opacity": FAINT + (1 - FAINT) * share, "stroke-width": 1.5 + 5 * share }));
    });
    target.forEach((token, at) => {
      const there = at < step;
      const group = svg("g", there ? { role: "button", class: "row" } : {});
      if (at === row) group.append(svg("rect", { x: 2, y: middle(at) - ROW / 2 + 1, width: side - 4, height: ROW - 2, rx: 4, fill: "none", stroke: "var(--mark)", "stroke-width": 2 }));
      group.append(svg("rect", { x: 2, y: middle(at) - ROW / 2, width: side - 4, height: ROW, fill: "transparent" }));
      group.append(svg("text", { x: side - 10, y: middle(at) + 4, "text-anchor": "end", class: at === row ? "strong" : "" }, there ? cut(token) : "…"));
      if (there) {
        choosable(group, at, weights);
        group.addEventListener("pointerenter", () => look(at));
      }
      chart.append(group);
    });
    source.forEach((token, at) => {
      const share = weights[row][at], y = middle(at);
      const padding = at >= length;
      chart.append(svg("rect", { x: bars, y: y - 5, width: BAR * share, height: 10, fill: "var(--line)" }));
      chart.append(svg("text", { x: far + 10, y: y + 4, class: share >= 0.5 ? "strong" : "", "font-style": padding ? "italic" : "normal", "text-decoration": padding && view.get("mask") ? "line-through" : "none" }, cut(token)));
      chart.append(svg("text", { x: wide - 2, y: y + 4, "text-anchor": "end", "data-weight": share }, fixed(share)));
    });
    return chart;
  }

  function matrix(weights) {
    const row = view.get("row"), step = view.get("step");
    const table = html("table");
    const head = html("tr");
    head.append(html("td", { class: "corner" }, `${view.say("source")} →\n${view.say("target")} ↓`));
    source.forEach((token, at) => {
      const cell = html("th", { scope: "col" }, cut(token));
      if (at >= length) cell.style.fontStyle = "italic";
      if (at >= length && view.get("mask")) cell.style.textDecoration = "line-through";
      head.append(cell);
    });
    const top = html("thead"), body = html("tbody");
    top.append(head);
    target.forEach((token, at) => {
      const line = html("tr"), name = html("th", { scope: "row" });
      name.append(at < step ? choosable(html("button", { type: "button", class: at === row ? "chosen" : "" }, cut(token)), at, weights) : "…");
      line.append(name);
      weights[at].forEach((share, to) => {
        const cell = html("td", { "data-weight": share, title: `${token} → ${source[to]}: ${fixed(share)}` });
        if (at < step) {
          cell.style.background = colour(share);
          cell.style.color = ink(colour(share));
          cell.textContent = source.length <= NUMBERS ? fixed(share).replace(/^0/, "") : "\u00a0";
          if (at === row) cell.classList.add("chosen");
        }
        line.append(cell);
      });
      if (at < step) line.addEventListener("pointerenter", () => look(at));
      body.append(line);
    });
    table.append(top, body);
    return table;
  }

  return view.run(["view", "row", "step", "mask"], () => {
    const weights = shown(view.get("weights"), length, view.get("mask"));
    const row = view.get("row"), step = view.get("step");
    kind.value = view.get("view");
    steps.show(step, view.say("of", { step, all: target.length }));
    view.enable(back, step > 1);
    view.enable(forward, step < target.length);
    if (mask) mask.checked = view.get("mask");
    el.shown = weights;
    view.show(view.scroll(view.say(view.get("view")), view.get("view") === "lines" ? lines(weights) : matrix(weights)));
    const most = best(weights[row]);
    const total = weights[row].reduce((sum, share) => sum + share, 0);
    view.live.textContent = view.say(total > 0 ? "sentence" : "nothing", {
      step: row + 1, all: target.length, token: seen(target[row]), most: seen(source[most]), at: most + 1,
      share: fixed(weights[row][most]), total: fixed(total),
    });
  });
}
/** A token as it is drawn: nothing is too long. */
function cut(token) {
  token = seen(token);
  return token.length > 12 ? `${token.slice(0, 11)}…` : token;
}
/** Pixels that the longest of these tokens takes, a Korean letter more than a Latin one, with its margins. */
function room(tokens) {
  const wide = (token) => [...cut(token)].reduce((sum, letter) => sum + (letter < "\u1100" ? 8 : 13), 0);
  return 20 + Math.max(...tokens.map(wide));
}
export default { render };
