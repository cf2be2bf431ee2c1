import { View, best, clamp, colourBar, fixed, html, mosaic, own, seen, svg } from "./shared.js";

const PATIENCE = 3000; // ms, after which a kernel that says nothing may be absent
const SMALL = 64, TIGHT = 44; // a mini map's side, and where there are many heads
const BARS = 66; // height of the bars of a row

const widest = (map) => Math.max(...map.map((row) => Math.max(...row)));

/** The share of its weight that a query has elsewhere in the second map, mean over the queries. */
export const rowDifference = (first, second) =>
  first.reduce((sum, row, at) => sum + row.reduce((part, share, key) => part + Math.abs(share - second[at][key]), 0), 0) / 2 / first.length;

/** Mean over the queries of the largest weight. */
export const sharpness = (map) => map.reduce((sum, row) => sum + Math.max(...row), 0) / map.length;

function render({ model, el }) {
  const view = new View(model, el, "head_grid");
  const maps = view.get("maps"), name = view.get("function"), heads = maps[0].length;
  const [queries, keys] = ["target_tokens", "source_tokens"].map((side) => view.get(side).map(seen));
  const all = maps.flatMap((layer, at) => layer.map((_, head) => [at, head])), same = (a, b) => a[0] === b[0] && a[1] === b[1];
  const minis = {}; // mini maps by head and stretch: each is drawn once
  let waiting = 0, gone = ""; // a timer, and the head for which no kernel answered in time

  const row = view.slider("query", [...queries.keys()], (value) => view.set({ row: value }));
  const second = view.control("second", html("select"), "change", (node) => view.set({ second: node.value ? all[node.value] : [] }));
  second.append(view.label(html("option", { value: "" }), "none"), ...all.map((_, at) => html("option", { value: at })));
  const off = name && view.checkbox("off", (value) => view.set({ off: value }));
  const stretch = view.checkbox("stretch", (value) => view.set({ stretch: value }));
  view.reset();

  const named = ([layer, head]) => view.say("head_name", { layer: layer + 1, head: head + 1 });
  const mapOf = ([layer, head]) => maps[layer][head];
  const topOf = (map) => (view.get("stretch") && widest(map)) || 1;

  function mini(head) {
    const key = `${head}:${view.get("stretch")}`;
    if (minis[key]) return minis[key];
    const map = mapOf(head), side = heads > 8 ? TIGHT : SMALL;
    const drawing = svg("svg", { viewBox: `0 0 ${keys.length} ${queries.length}`, width: side, height: side, preserveAspectRatio: "none", "aria-hidden": "true" });
    const top = topOf(map);
    drawing.append(mosaic(map, (share) => share / top));
    return (minis[key] = drawing);
  }

  /** One head of the grid: all are one stop of the tab key, arrows open the one beside. */
  function opener(head, answer) {
    const [layer, at] = head, mine = same(head, view.get("opened")), other = same(head, view.get("second"));
    const node = own(html("button", { type: "button", "data-key": `head-${layer}-${at}`, "aria-pressed": mine, tabindex: mine ? 0 : -1 }));
    const label = [named(head), view.say("sharp", { share: fixed(sharpness(mapOf(head))) })];
    if (answer) label.push(answer.problem ? view.say("failed") : view.say("costs", { text: answer.text }));
    node.setAttribute("aria-label", label.join(", "));
    node.style.cssText = `position: relative; padding: 1px; line-height: 0; border: 3px ${other && !mine ? "dashed" : "solid"} ${mine || other ? "var(--mark)" : "transparent"}`;
    node.append(mini(head));
    if (mine && view.get("off")) {
      const cross = svg("svg", { viewBox: "0 0 10 10", preserveAspectRatio: "none", "aria-hidden": "true" });
      cross.style.cssText = "position: absolute; inset: 1px; width: calc(100% - 2px); height: calc(100% - 2px)";
      for (const [stroke, width] of [["#ffffff", 4], ["#000000", 2]]) cross.append(svg("path", { d: "M0 0L10 10M10 0L0 10", stroke, "stroke-width": width, "vector-effect": "non-scaling-stroke" }));
      node.append(cross);
    }
    node.addEventListener("click", () => view.set({ opened: head }));
    node.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: [layer, at + 1], ArrowLeft: [layer, at - 1], ArrowDown: [layer + 1, at], ArrowUp: [layer - 1, at] };
      const to = { ...steps, Home: [layer, 0], End: [layer, heads - 1] }[event.key];
      if (!to) return;
      event.preventDefault();
      const next = [clamp(to[0], 0, maps.length - 1), clamp(to[1], 0, heads - 1)];
      view.set({ opened: next });
      view.stage.querySelector(`[data-key="head-${next.join("-")}"]`)?.focus({ preventScroll: true });
    });
    return node;
  }

  /** What it costs to switch a head off: a number and a bar, dashed where the model gets better without it. */
  function price(answer, most) {
    const box = html("div");
    box.style.cssText = "height: 1.9em; font-size: 11px; line-height: 1.2";
    if (!answer) return box;
    box.textContent = answer.problem ? "!" : answer.text;
    if (answer.problem) return box;
    const bar = html("div", { "data-cost": answer.cost });
    const look = answer.cost < 0 ? "border: 1px dashed var(--mark)" : "background: var(--line)";
    bar.style.cssText = `box-sizing: border-box; height: 6px; width: ${most ? (Math.abs(answer.cost) / most) * 100 : 0}%; ${look}`;
    box.append(bar);
    return box;
  }

  function grid(answers) {
    const table = html("table"), top = html("thead"), line = html("tr"), body = html("tbody");
    const most = Math.max(0, ...Object.values(answers).map((answer) => Math.abs(answer.cost ?? 0)));
    line.append(html("td", { class: "corner" }, `${view.say("head")} →\n${view.say("layer")} ↓`));
    for (let head = 0; head < heads; head++) line.append(html("th", { scope: "col" }, head + 1));
    top.append(line);
    maps.forEach((layer, at) => {
      const cells = html("tr");
      cells.append(html("th", { scope: "row" }, at + 1));
      layer.forEach((_, head) => {
        const cell = html("td"), answer = answers[`${at}-${head}`];
        cell.style.padding = "0";
        cell.append(opener([at, head], answer));
        if (name) cell.append(price(answer, most));
        cells.append(cell);
      });
      body.append(cells);
    });
    table.append(top, body);
    const box = html("div");
    box.append(html("div", { class: "title" }, view.say(name ? "grid_costs" : "grid")), view.scroll(view.say("grid"), table), legend());
    return box;
  }

  function legend() {
    const box = colourBar(`${view.say("weight")} 0`, view.get("stretch") ? view.say("largest") : "1");
    box.style.marginTop = "0.3em";
    return box;
  }

  /** A map with its tokens; the chosen row framed, its weights below as bars and numbers. */
  function large(head, title) {
    const map = mapOf(head), at = view.get("row"), cell = clamp(Math.floor(300 / keys.length), 14, 30);
    const rows = queries.map((token, place) => `${place} ${cut(token)}`), columns = keys.map((token, place) => `${place} ${cut(token)}`);
    const left = Math.max(room(rows) + 12, 50), wide = left + cell * keys.length + 6, down = 4 + cell * queries.length;
    const base = down + 14 + BARS + 22, high = base + room(columns) + 4;
    const values = map[at].map((share, key) => `${columns[key]} ${fixed(share)}`).join(", ");
    const drawing = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": `${title}. ${view.say("query")} ${rows[at]}: ${values}` });
    const top = topOf(map), cells = mosaic(map, (share) => share / top);
    cells.setAttribute("transform", `translate(${left} 4) scale(${cell})`);
    cells.style.cursor = "pointer";
    cells.addEventListener("click", (event) => {
      const seen = cells.getBoundingClientRect();
      view.set({ row: clamp(Math.floor(((event.clientY - seen.top) / seen.height) * queries.length), 0, queries.length - 1) });
    });
    drawing.append(cells);
    const say = (x, y, text, more = {}) => drawing.append(svg("text", { x, y, ...more }, text));
    rows.forEach((text, place) => say(left - 5, 4 + (place + 0.5) * cell + 4, `${place === at ? "▸ " : ""}${text}`, { "text-anchor": "end", class: place === at ? "strong" : "" }));
    drawing.append(svg("rect", { x: left - 1, y: 3 + at * cell, width: cell * keys.length + 2, height: cell + 2, fill: "none", stroke: "var(--mark)", "stroke-width": 2.5 }));
    say(left - 5, down + 16, view.say("query"), { "text-anchor": "end", "font-style": "italic" });
    say(left - 5, base + 16, view.say("key"), { "text-anchor": "end", "font-style": "italic" });
    drawing.append(svg("line", { x1: left, x2: wide - 6, y1: base, y2: base, stroke: "var(--rule)" }));
    map[at].forEach((share, key) => {
      const x = left + (key + 0.5) * cell, y = base - share * BARS, turned = cell < 28;
      drawing.append(svg("rect", { x: x - cell / 2 + 2, y, width: cell - 4, height: share * BARS, fill: "var(--line)" }));
      say(x + (turned ? 4 : 0), y - 4, fixed(share).replace(/^0/, ""), { "data-weight": share, ...(turned ? { transform: `rotate(-90 ${x + 4} ${y - 4})` } : { "text-anchor": "middle" }) });
      say(x + 4, base + 8, columns[key], { "text-anchor": "end", transform: `rotate(-90 ${x + 4} ${base + 8})`, class: key === best(map[at]) && share ? "strong" : "" });
    });
    const box = html("div");
    box.style.cssText = "min-width: 0; max-width: 100%";
    box.append(html("div", { class: "title" }, title), view.scroll(title, drawing));
    return box;
  }

  /** What there is to say about the opened head, off: the kernel's answer, or where it stays away. */
  function cost(answers) {
    const opened = view.get("opened"), answer = answers[opened.join("-")];
    const known = all.filter((head) => answers[head.join("-")]?.cost !== undefined), costOf = (head) => answers[head.join("-")].cost;
    const values = { name, head: named(opened), asked: known.length, all: all.length };
    clearTimeout(waiting);
    if (!answer && !view.get("alone") && gone !== opened.join("-")) {
      waiting = setTimeout(() => { gone = opened.join("-"); draw(); }, PATIENCE);
      return ["waiting", view.say("waiting", values)];
    }
    if (!answer) return ["no_answer", view.say("no_answer", values)];
    const said = [view.say(answer.problem ? "problem" : "cost", { ...values, ...answer })];
    if (known.length > 1) {
      const most = known.reduce((found, head) => (costOf(head) > costOf(found) ? head : found));
      said.push(view.say("costliest", { ...values, head: named(most), text: answers[most.join("-")].text }));
    }
    return ["answered", said.join(" ")];
  }

  function looks(head) {
    const at = view.get("row"), weights = mapOf(head)[at], most = best(weights);
    return view.say(weights[most] > 0 ? "looks" : "nothing", { name: named(head), row: at, query: queries[at], column: most, token: keys[most], share: fixed(weights[most]) });
  }

  function draw() {
    const [opened, other, at, answers] = ["opened", "second", "row", "answers"].map((key) => view.get(key)), isOff = view.get("off");
    row.show(at, `${at} ${cut(queries[at])}`);
    all.forEach((head, place) => { second.options[place + 1].textContent = named(head); });
    second.value = other.length ? all.findIndex((head) => same(head, other)) : "";
    if (off) off.checked = isOff;
    stretch.checked = view.get("stretch");
    const [source, told] = isOff ? cost(answers) : ["on", ""], said = [looks(opened)];
    const beside = html("div"); // two large maps stay side by side, below the grid where that takes their room
    beside.style.cssText = "display: flex; flex-wrap: wrap; gap: 1em 1.4em";
    beside.append(large(opened, named(opened) + (isOff ? ` (${view.say("is_off")})` : "")));
    if (other.length) {
      beside.append(large(other, named(other)));
      said.push(looks(other), view.say("differ", { share: fixed(rowDifference(mapOf(opened), mapOf(other))) }));
    }
    if (told) said.push(told);
    el.dataset.source = source;
    el.found = { opened: mapOf(opened)[at], differ: other.length ? rowDifference(mapOf(opened), mapOf(other)) : null, sharp: all.map((head) => sharpness(mapOf(head))) };
    view.show(grid(answers), beside);
    view.live.textContent = said.join(" ");
  }
  const stop = view.run(["opened", "second", "row", "off", "stretch", "answers"], draw);
  return () => { clearTimeout(waiting); stop(); };
}

const cut = (token) => (token.length > 9 ? `${token.slice(0, 8)}…` : token);
/** Pixels that the longest of these texts takes, a Korean letter more than a Latin one. */
const room = (texts) => 10 + Math.max(...texts.map((text) => [...text].reduce((sum, letter) => sum + (letter < "\u1100" ? 7 : 12), 0)));
export default { render };
