import { View, clamp, colour, colourBar, fixed, html, ink, seen, svg } from "./shared.js";

const PARTS = ["attention", "feed_forward", "shortcuts", "norms"];
const CURVES = ["mean_length", "mean_alike", "gradient"];
const GROWN = 3, FADED = 10, ALIKE = 0.95; // from what factors, and what mean cosine, on it is said in words
const DENSE = 8; // beyond so many tokens the cells are smaller
const ACROSS = 250, UP = 138, EDGE = { left: 36, right: 12, top: 8, bottom: 34 };

/** A length with two or three digits; its power of ten where those would not do. */
export function short(value) {
  if (value === null) return "–";
  if (value === 0) return "0";
  if (value < 0.001 || value >= 10000) return value.toExponential(1).replace("e+", "e");
  return value.toFixed(value < 0.1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}
const cosine = (value) => (value === null ? "–" : fixed(value));
const bits = (number) => [...number.toString(2)].filter((bit) => bit === "1").length;

/** Decadic logarithms of the lengths with the darkest and the lightest colour, at least a decade apart. */
export function scale(lengths) {
  const logs = lengths.flat(2).filter((length) => length > 0).map(Math.log10);
  if (!logs.length) logs.push(0);
  const low = Math.min(...logs), high = Math.max(...logs), half = Math.max(0.5, (high - low) / 2);
  return [(low + high) / 2 - half, (low + high) / 2 + half];
}

/** Whole decadic logarithms around positive values, at least one apart: the ends of a chart. */
export function decades(values) {
  const low = Math.floor(Math.log10(Math.min(...values))), high = Math.ceil(Math.log10(Math.max(...values)));
  return [low, Math.max(high, low + 1)];
}
const power = (at) => (at > -3 && at < 4 ? String(+(10 ** at).toFixed(2)) : `10${[...String(at)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign])).join("")}`);

function render({ model, el }) {
  const view = new View(model, el, "block_xray");
  const tokens = view.get("tokens").map(seen), widths = view.get("d_ff"), states = view.get("states");
  const boxes = PARTS.map((part) => view.checkbox(part, (value) => view.set({ [part]: value })));
  const order = view.select("order", ["post", "pre"], (value) => view.set({ order: value }));
  const block = view.slider("block", widths.map((_, at) => at + 1), (value) => view.set({ block: value }));
  const token = view.control("token", html("select"), "change", (node) => view.set({ token: +node.value }));
  token.append(...tokens.map((text, at) => html("option", { value: at }, `${at} ${text}`)));
  view.reset();

  const dense = tokens.length > DENSE;
  const word = (stage) => /_(sum|norm)$/.exec(stage)?.[1] ?? stage;
  /** Whether the switch that a stage stands for is off. */
  function isOff(stage) {
    const part = { sum: "shortcuts", norm: "norms", hidden: "feed_forward" }[word(stage)] ?? stage;
    return part !== "input" && !view.get(part);
  }

  const cell = (text, data = {}) => html("td", data, text);

  /** The tokens that the followed one has heard of, a dot each, and how many. */
  function ears(number) {
    const box = cell("");
    if (number === null) { box.textContent = "–"; return box; }
    const known = tokens.map((_, at) => Math.floor(number / 2 ** at) % 2 === 1), count = bits(number);
    const dots = html("span", { "aria-hidden": "true" }, known.map((yes) => (yes ? "●" : "○")).join(""));
    dots.style.cssText = `font-size: ${dense ? 7 : 10}px; letter-spacing: ${dense ? 0 : 0.5}px; margin-right: 0.5em`;
    box.style.cssText = "white-space: nowrap; text-align: right";
    box.dataset.heard = count;
    box.append(dots, `${count}/${tokens.length}`);
    return box;
  }

  function likeness(value) {
    const box = cell(""), line = html("div"), bar = html("span");
    line.style.cssText = `display: flex; align-items: center; gap: 0.4em; width: ${dense ? 2.6 : 4.8}em`;
    bar.style.cssText = `height: 0.8em; background: var(--line); width: calc(${clamp(value ?? 0, 0, 1)} * (100% - 2.8em))`;
    box.style.paddingLeft = "0.5em";
    line.append(html("span", value === null ? {} : { "data-alike": value }, cosine(value).replace("-", "−")), bar);
    box.append(line);
    return box;
  }

  /** One row a stage, one column a token: lengths as colours and numbers. */
  function table(shown) {
    const grid = html("table"), top = html("thead"), head = html("tr"), body = html("tbody");
    const at = view.get("block") - 1, chosen = view.get("token"), room = dense ? 5 : 7, [low, high] = scale(shown.length);
    const stay = (node) => { node.style.cssText += "; position: sticky; left: -5px; z-index: 1; background: var(--paper); white-space: nowrap; text-align: left"; };
    const put = (text) => { const node = html("th", { scope: "col" }, text); node.style.paddingInline = "0.2em"; head.append(node); return node; };
    stay(put(view.say("stage")));
    put(view.say("shape"));
    tokens.forEach((text, place) => {
      const node = put(`${place}\n${text.length > room ? `${text.slice(0, room - 1)}…` : text}`);
      node.style.cssText = `white-space: pre; line-height: 1.2; padding: 0.1em; min-width: ${dense ? 2.2 : 3}em; font-size: ${dense ? 10 : 11}px`;
      if (place === chosen) node.classList.add("chosen");
    });
    put(view.say("alike"));
    put(view.say("heard", { at: chosen })).style.whiteSpace = "nowrap";
    top.append(head);
    view.get("stages")[view.get("order")].forEach((stage, row) => {
      const line = html("tr"), name = html("th", { scope: "row" }, view.say(word(stage))), off = isOff(stage);
      if (off) {
        const note = html("span", {}, ` ${view.say("is_off")}`);
        note.style.cssText = "font-style: italic; color: var(--mark)";
        name.append(note);
      }
      stay(name);
      const size = cell(`(${tokens.length}, ${stage === "hidden" ? widths[at] : view.get("d_model")})`);
      size.style.whiteSpace = "nowrap";
      line.append(name, size);
      const lengths = shown.length[at][row];
      tokens.forEach((_, place) => {
        const length = lengths?.[place] ?? null, box = cell(short(length), length === null ? {} : { "data-length": length });
        box.style.cssText = `font-size: ${dense ? 10 : 12}px`;
        if (length > 0) {
          const paint = colour((Math.log10(length) - low) / (high - low));
          box.style.background = paint;
          box.style.color = ink(paint);
        }
        if (place === chosen) box.classList.add("chosen");
        line.append(box);
      });
      line.append(likeness(shown.alike[at][row]), ears(shown.heard[at][row]?.[chosen] ?? null));
      for (const box of line.children) box.style.paddingBlock = "0.05em", box.style.paddingInline ||= "0.2em";
      body.append(line);
    });
    grid.append(top, body);
    const title = view.say("table", { block: at + 1 }), box = html("div"), above = html("div", { class: "title" }, title);
    above.style.cssText = "display: flex; flex-wrap: wrap; gap: 0 1.2em";
    above.append(colourBar(short(10 ** low), short(10 ** high)));
    box.style.cssText = "flex: 1 1 100%";
    box.append(above, view.scroll(title, grid));
    return box;
  }

  /** One number over depth: now (solid, dots), and of the blocks as they are (dashed); the opened block shaded. */
  function chart(name, now, given) {
    const logs = name !== "mean_alike", write = logs ? short : cosine, floor = UP - EDGE.bottom, last = now.length - 1;
    const known = [...now, ...given].filter((value) => value !== null && (!logs || value > 0));
    const [low, high] = logs ? decades(known.length ? known : [1]) : [Math.min(0, ...known), 1];
    const x = (at) => EDGE.left + (at / last) * (ACROSS - EDGE.left - EDGE.right);
    const up = (value) => floor - clamp((value - low) / (high - low), 0, 1) * (floor - EDGE.top);
    const y = (value) => up(logs ? Math.log10(value) : value);
    const [first, top] = [now[0], now[last]].map(write), title = view.say(name);
    const drawing = svg("svg", { viewBox: `0 0 ${ACROSS} ${UP}`, width: ACROSS, height: UP, role: "img", "aria-label": view.say("curve", { name: title, first, last: top }) });
    const put = (tag, attributes, text) => drawing.append(svg(tag, attributes, text));
    put("rect", { x: x(view.get("block") - 1), width: x(1) - x(0), y: EDGE.top, height: floor - EDGE.top, fill: "var(--rule)", "fill-opacity": 0.25 });
    const step = Math.ceil((high - low) / 4), marks = logs ? [] : [...(low < -0.2 ? [low] : []), 0, 0.5, 1];
    for (let mark = low; logs && mark <= high; mark += step) marks.push(mark);
    for (const mark of marks) {
      put("line", { x1: EDGE.left, x2: ACROSS - EDGE.right, y1: up(mark), y2: up(mark), stroke: "var(--rule)", "stroke-opacity": mark === marks[0] ? 1 : 0.35 });
      put("text", { x: EDGE.left - 5, y: up(mark) + 4, "text-anchor": "end" }, logs ? power(mark) : String(+mark.toFixed(1)).replace("-", "−"));
    }
    now.forEach((_, at) => at % (last > 8 ? 2 : 1) || put("text", { x: x(at), y: floor + 14, "text-anchor": "middle" }, at));
    put("text", { x: (ACROSS + EDGE.left - EDGE.right) / 2, y: UP - 5, "text-anchor": "middle" }, view.say("depth"));
    const line = (values) => values.map((value, at) => [value, at]).filter(([value]) => value !== null).map(([value, at], which) => `${which ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    put("path", { d: line(given), fill: "none", stroke: "var(--mark)", "stroke-width": 2, "stroke-dasharray": "6 4" });
    put("path", { d: line(now), fill: "none", stroke: "var(--line)", "stroke-width": 2.5 });
    now.forEach((value, at) => value !== null && put("circle", { cx: x(at), cy: y(value), r: 3.5, fill: "var(--line)", [`data-${name.replace("_", "")}`]: value }));
    const box = html("div", { class: "chart" });
    box.style.cssText = "flex: 1 1 180px; max-width: 300px; align-self: flex-start";
    box.append(html("div", { class: "title" }, `${title}: ${first} ${name === "gradient" ? "←" : "→"} ${top}`), drawing);
    return box;
  }

  function findings({ mean_length: mean, mean_alike: alike, gradient }) {
    const end = mean.length - 1;
    return Object.entries({
      grows: mean[end] >= GROWN * mean[0],
      shrinks: mean[end] * GROWN <= mean[0],
      collapses: alike[0] !== null && alike[end] !== null && alike[0] < ALIKE && alike[end] >= ALIKE,
      fades: gradient[0] * FADED <= 1,
      explodes: gradient[0] >= FADED,
      alone: !view.get("attention"),
    }).filter(([, yes]) => yes).map(([name]) => name);
  }

  function sentence(shown) {
    const off = PARTS.filter((part) => !view.get(part)).map((part) => view.say(part)).join(", ");
    const at = view.get("block") - 1, chosen = view.get("token"), end = widths.length, lengths = shown.length[at];
    const said = [off ? view.say("off", { parts: off }) : view.say("all_on")];
    if (view.get("norms")) said.push(view.say(`is_${view.get("order")}`));
    if (!view.get("attention") || !view.get("feed_forward")) said.push(view.say(view.get("shortcuts") ? "adds_nothing" : "hands_on"));
    said.push(view.say("walk", {
      block: at + 1, at: chosen, token: tokens[chosen], first: short(lengths[0][chosen]), last: short(lengths.at(-1)[chosen]),
      heard: bits(shown.heard[at].at(-1)[chosen]), count: tokens.length,
    }));
    said.push(view.say("whole", {
      blocks: end, first: short(shown.mean_length[0]), last: short(shown.mean_length[end]),
      apart: cosine(shown.mean_alike[0]), alike: cosine(shown.mean_alike[end]), gradient: short(shown.gradient[0]),
    }));
    return [...said, ...findings(shown).map((name) => view.say(name))].join(" ");
  }

  const key = (on, way) => on.map(Number).join("") + way;
  return view.run([...PARTS, "order", "block", "token"], () => {
    const on = PARTS.map((part) => view.get(part)), shown = states[key(on, view.get("order"))];
    const given = states[key([true, true, true, true], view.get("own_order"))];
    boxes.forEach((box, at) => { box.checked = on[at]; });
    order.value = view.get("order");
    block.show(view.get("block"), view.say("of", { block: view.get("block"), blocks: widths.length }));
    token.value = view.get("token");
    const foot = html("div", {}, view.say("dashed"));
    foot.style.cssText = "flex: 1 1 100%; font-size: 12px; margin: -1em 0 -0.4em";
    view.show(table(shown), ...CURVES.map((name) => chart(name, shown[name], given[name])), foot);
    el.found = { key: key(on, view.get("order")), scale: scale(shown.length), findings: findings(shown) };
    view.live.textContent = sentence(shown);
  });
}
export default { render };
