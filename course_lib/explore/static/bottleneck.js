import { View, html, svg } from "./shared.js";

const WIDE = 300, HIGH = 210, LEFT = 38, BOTTOM = 40, TOP = 12, RIGHT = 38;
const DASHES = ["2 3", "7 4", "none", "9 3 2 3"];
export const percent = (share) => Math.floor(share * 100 + 0.5);

/** Axes of a chart whose height is a share from 0 to 1. `ticks`: [place, text] from left to right. */
function axes(title, label, ticks, right) {
  const chart = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": title });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const y = up(share);
    chart.append(svg("line", { x1: LEFT, x2: WIDE - right, y1: y, y2: y, stroke: "var(--rule)", "stroke-opacity": share ? 0.35 : 1 }));
    chart.append(svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, `${share * 100}%`));
  }
  for (const [x, text] of ticks) chart.append(svg("text", { x, y: HIGH - BOTTOM + 16, "text-anchor": "middle" }, text));
  chart.append(svg("text", { x: (LEFT + WIDE - right) / 2, y: HIGH - 5, "text-anchor": "middle" }, label));
  return chart;
}
const up = (share) => TOP + (1 - share) * (HIGH - TOP - BOTTOM);

function figure(title, chart) {
  const box = html("div", { class: "chart" });
  box.append(html("div", { class: "title" }, title), chart);
  return box;
}

function render({ model, el }) {
  const view = new View(model, el, "bottleneck");
  const lengths = model.get("lengths"), widths = model.get("widths");
  const task = view.select("task", model.get("tasks"), (value) => view.set({ task: value }));
  const length = view.slider("length", lengths, (value) => view.set({ length: value }));
  const width = view.slider("width", widths, (value) => view.set({ width: value }));
  view.reset();

  function byLength(curves, chosen, at) {
    const [low, high] = [lengths[0], lengths[lengths.length - 1]];
    const across = (value) => LEFT + 10 + ((value - low) / Math.max(1, high - low)) * (WIDE - LEFT - RIGHT - 20);
    const chart = axes(view.say("by_length"), view.say("length_axis"), lengths.map((value) => [across(value), value]), RIGHT);
    // Widths stand at the end of their curves, and are pushed apart where curves end together.
    let lowest = Infinity;
    const order = widths.map((value, index) => [value, index]).sort((a, b) => curves[a[0]].at(-1) - curves[b[0]].at(-1));
    for (const [value, index] of order) {
      const mine = value === chosen, shares = curves[value];
      const path = shares.map((share, step) => `${step ? "L" : "M"}${across(lengths[step])} ${up(share)}`).join("");
      chart.append(svg("path", { d: path, fill: "none", stroke: mine ? "var(--line)" : "var(--rule)", "stroke-width": mine ? 3.5 : 2, "stroke-dasharray": mine ? "none" : DASHES[index % DASHES.length] }));
      const y = Math.min(up(shares.at(-1)) + 4, lowest - 15);
      lowest = y;
      chart.append(svg("text", { x: WIDE - RIGHT + 2, y, class: mine ? "strong" : "" }, value));
    }
    chart.append(svg("text", { x: WIDE - RIGHT + 2, y: lowest - 17 }, view.say("width")));
    const share = curves[chosen][lengths.indexOf(at)];
    chart.append(svg("line", { x1: across(at), x2: across(at), y1: up(0), y2: up(share), stroke: "var(--mark)", "stroke-dasharray": "3 3" }));
    chart.append(svg("circle", { cx: across(at), cy: up(share), r: 7, fill: "var(--mark)", stroke: "var(--paper)", "stroke-width": 2 }));
    chart.append(svg("text", { x: across(at) + 10, y: up(share) - 9, class: "halo strong" }, `${percent(share)}%`));
    return chart;
  }

  function byPosition(shares) {
    const step = (WIDE - LEFT - 10) / shares.length;
    const every = [1, 5, 10].find((size) => shares.length <= 12 * size) || 50;
    const ticks = shares.map((_, index) => [LEFT + (index + 0.5) * step, index + 1]).filter(([, place]) => place % every === 0 || place === 1);
    const chart = axes(view.say("by_position", { longest: shares.length }), view.say("position_axis"), ticks, 10);
    shares.forEach((share, index) => {
      const bar = svg("rect", { x: LEFT + index * step + 1.5, width: Math.max(1, step - 3), y: up(share), height: up(0) - up(share), fill: "var(--line)", "data-share": share });
      bar.append(svg("title", {}, `${index + 1}: ${percent(share)}%`));
      chart.append(bar);
    });
    return chart;
  }

  return view.run(["task", "length", "width"], () => {
    const [doing, at, wide] = ["task", "length", "width"].map((name) => view.get(name));
    const curves = view.get("curves")[doing], places = view.get("places")[doing][wide];
    task.value = doing;
    length.show(at);
    width.show(wide);
    const share = curves[wide][lengths.indexOf(at)];
    el.dataset.recall = share;
    view.show(
      figure(view.say("by_length"), byLength(curves, wide, at)),
      figure(view.say("by_position", { longest: places.length }), byPosition(places)),
    );
    view.live.textContent = view.say("sentence", {
      task: view.say(doing), width: wide, length: at, longest: places.length, seeds: view.get("seeds"),
      recall: percent(share), first: percent(places[0]), last: percent(places.at(-1)),
    });
  });
}
export default { render };
