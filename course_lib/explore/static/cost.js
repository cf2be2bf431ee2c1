import { View, html, svg } from "./shared.js";
import { DOUBLED, KEPT, MULTIPLIED, PLACES, bytesInWords, crossing, formulas, grouped, growth, keyWidth, large, layerOf, memory, multiplications, percent, plain, raised, times } from "./cost_counts.js";

const SETTING = ["length", "width", "heads", "layers", "texts", "size", "kind", "window", "shared"];
const PATIENCE = 5000; // ms, after which a kernel that says nothing may be absent
const WIDE = 340, HIGH = 240, EDGE = { left: 34, right: 34, top: 8, bottom: 36 }, POWERS = [3, 17]; // of ten, that the chart shows
const BARS = { high: 172, left: 6, right: 14, top: 30, bottom: 20, powers: [3, 17] };
const SMALL = "font-size: 12px", NAMES = { 3: "KB", 6: "MB", 9: "GB", 12: "TB", 15: "PB" };
const LINES = { attention: ["var(--mark)", "none"], rest: ["var(--line)", "8 4"], gru: ["var(--rule)", "2 3"] };

function render({ model, el }) {
  const view = new View(model, el, "cost"), choices = view.get("choices"), alone = () => Boolean(view.get("alone"));
  let waiting = 0, gone = null; // a timer, and the count for which no kernel answered in time
  const slider = (name) => view.slider(name, choices[name], (value) => view.set({ [name]: value }));
  const sliders = Object.fromEntries(["length", "width", "heads", "layers", "texts"].map((name) => [name, slider(name)]));
  const kind = view.select("kind", ["full", "tiled", "window", "linear"], (value) => view.set({ kind: value }));
  sliders.window = slider("window");
  const shared = view.select("shared", ["all", "quarter", "one"], (value) => view.set({ shared: value }));
  const size = view.select("size", choices.size.map(String), (value) => view.set({ size: +value }));
  const press = view.button("measure", () => {
    gone = null;
    view.set({ measures: view.get("measures") + 1 });
  });
  const note = styled(view.label(html("span"), "alone"), SMALL);
  view.controls.append(note);
  view.reset();

  const setting = () => Object.fromEntries(SETTING.map((name) => [name, view.get(name)]));
  const word = (name, s) => view.say(name === "cache" && s.kind === "linear" ? "states" : name);

  /** What came out of measuring: "waiting", "no_answer", "not_measured", an answer, or null as long as nobody asked. */
  function find(s) {
    const asked = view.get("measures"), answer = view.get("answer"), block = [s.kind, s.width, s.heads, ...(s.kind === "window" ? [s.window] : [])];
    if (asked === 0) return null;
    if (answer.asked !== asked) return alone() || gone === asked ? "no_answer" : "waiting";
    return String(answer.for) === String(block) ? answer : "not_measured";
  }

  /** Multiplications over the length, both in logarithms; a line down at the present length, and one where they cross. */
  function chart(s) {
    const [low, high] = POWERS, floor = HIGH - EDGE.bottom, lengths = choices.length, last = Math.log2(lengths.at(-1)), first = Math.log2(lengths[0]);
    const x = (length) => EDGE.left + ((Math.log2(length) - first) / (last - first)) * (WIDE - EDGE.left - EDGE.right);
    const y = (number) => floor - ((Math.log10(Number(number)) - low) / (high - low)) * (floor - EDGE.top);
    const curves = { attention: [], rest: [], gru: [] }, title = view.say("chart"), at = crossing(s);
    for (const length of lengths) {
      const [whole, attention] = layerOf({ ...s, length });
      curves.attention.push(attention), curves.rest.push(whole - attention), curves.gru.push(multiplications({ ...s, length }).gru);
    }
    const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": title });
    for (let power = low; power <= high; power += 2) {
      drawing.append(svg("line", { x1: EDGE.left, x2: WIDE - EDGE.right, y1: y(10 ** power), y2: y(10 ** power), stroke: "var(--rule)", "stroke-opacity": power > low ? 0.35 : 1 }));
      drawing.append(svg("text", { x: EDGE.left - 5, y: y(10 ** power) + 4, "text-anchor": "end" }, `10${raised(power)}`));
    }
    for (let power = first; power <= last; power += 4) drawing.append(svg("text", { x: x(2 ** power), y: floor + 17, "text-anchor": "middle" }, grouped(2 ** power)));
    drawing.append(svg("text", { x: (EDGE.left + WIDE) / 2, y: HIGH - 4, "text-anchor": "middle" }, view.say("tokens")));
    for (const name of ["gru", "rest", "attention"]) {
      const d = curves[name].map((number, which) => `${which ? "L" : "M"}${x(lengths[which])} ${y(number)}`).join("");
      drawing.append(svg("path", { d, fill: "none", stroke: LINES[name][0], "stroke-width": name === "gru" ? 2 : 3, "stroke-dasharray": LINES[name][1] }));
    }
    const down = (length, from, more) => drawing.append(svg("line", { x1: x(length), x2: x(length), y1: from, y2: floor, ...more }));
    down(s.length, EDGE.top, { stroke: "var(--ink)", "stroke-width": 1.5 });
    for (const name of Object.keys(curves)) {
      const number = curves[name][lengths.indexOf(s.length)];
      drawing.append(svg("circle", { cx: x(s.length), cy: y(number), r: 4.5, fill: LINES[name][0], stroke: "var(--paper)", "data-now": number }));
    }
    if (at) {
      const height = y(layerOf({ ...s, length: 1 })[0] - layerOf({ ...s, length: 1 })[1]) - (y(1) - y(at)); // all the rest grows in step with the length
      down(at, height, { stroke: "var(--mark)", "stroke-dasharray": "3 3" });
      drawing.append(svg("text", { x: x(at) + (s.length < at ? 5 : -5), y: floor - 6, "text-anchor": s.length < at ? "start" : "end", class: "halo strong", "data-crossing": at }, grouped(at)));
    }
    const legend = styled(html("div"), `display: flex; flex-wrap: wrap; gap: 0 1em; ${SMALL}`);
    for (const name of Object.keys(LINES)) {
      const item = html("span"), sign = svg("svg", { width: 26, height: 8, "aria-hidden": true });
      sign.style.cssText = "display: inline-block; width: 26px; margin-right: 0.4em; vertical-align: middle";
      sign.append(svg("line", { x1: 0, x2: 26, y1: 4, y2: 4, stroke: LINES[name][0], "stroke-width": 3, "stroke-dasharray": LINES[name][1] }));
      item.append(sign, view.say(name));
      legend.append(item);
    }
    return figure(title, drawing, legend);
  }

  /** The bytes as bars in logarithms, with two sizes to compare with. */
  function bars(s, kept) {
    const { high, left, right, top, bottom, powers: [low, most] } = BARS, title = view.say("bars", { texts: s.texts }), largest = biggest(kept);
    const x = (bytes) => left + Math.max(0, (Math.log10(Number(bytes)) - low) / (most - low)) * (WIDE - left - right), floor = high - bottom;
    const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${high}`, role: "img", "aria-label": title });
    for (const power of Object.keys(NAMES)) {
      drawing.append(svg("line", { x1: x(10 ** power), x2: x(10 ** power), y1: top - 4, y2: floor, stroke: "var(--rule)", "stroke-opacity": 0.35 }));
      drawing.append(svg("text", { x: x(10 ** power), y: high - 5, "text-anchor": power > low ? "middle" : "start" }, `1 ${NAMES[power]}`));
    }
    KEPT.forEach((name, at) => {
      const y = top + at * 40, mine = name === largest;
      drawing.append(svg("rect", { x: left, y: y + 16, width: kept[name] ? Math.max(2, x(kept[name]) - left) : 0, height: 16, fill: mine ? "var(--mark)" : "var(--line)", "data-bytes": kept[name] }));
    });
    PLACES.forEach(([bytes, name], at) => {
      drawing.append(svg("line", { x1: x(bytes), x2: x(bytes), y1: top - 12, y2: floor, stroke: "var(--ink)", "stroke-width": 1.5, "stroke-dasharray": at ? "6 3" : "none" }));
      drawing.append(svg("text", { x: x(bytes) + (at ? 4 : -4), y: 12, "text-anchor": at ? "start" : "end" }, view.say(name)));
    });
    KEPT.forEach((name, at) => drawing.append(svg("text", { x: left, y: top + at * 40 + 12, class: name === largest ? "halo strong" : "halo" }, `${word(name, s)}: ${bytesInWords(kept[name])}`)));
    return figure(title, drawing);
  }

  function figure(title, ...nodes) {
    const box = html("div", { class: "chart" });
    box.append(html("div", { class: "title" }, title), ...nodes);
    return box;
  }

  /** Rows of text under a head; the first cell of each names it. */
  function grid(label, head, rows) {
    const table = html("table"), top = html("thead"), line = html("tr"), body = html("tbody");
    line.append(...head.map((text, at) => styled(html(text ? "th" : "td", text ? { scope: "col" } : {}, text), at ? "white-space: nowrap" : "")));
    top.append(line);
    for (const [key, name, ...cells] of rows) {
      const row = html("tr", { "data-row": key });
      row.append(styled(html("th", { scope: "row" }, name), "text-align: left; white-space: nowrap; padding-block: 0"), ...cells.map((text) => styled(html("td", {}, text), "white-space: nowrap; padding-block: 0")));
      body.append(row);
    }
    table.append(top, body);
    const box = html("div");
    box.append(html("div", { class: "title" }, label), view.scroll(label, table));
    return box;
  }

  function counts(s, kept) {
    const parts = multiplications(s), grows = growth(s), how = formulas(s);
    const rows = [...MULTIPLIED, ...KEPT].map((name) => [name, word(name, s), name in parts ? large(parts[name]) : bytesInWords(kept[name]), ...grows[name].map(times), how[name]]);
    const box = grid(view.say("table"), ["", view.say("now"), "2N", "2D", "2H", view.say("formula")], rows);
    box.append(styled(html("div", {}, view.say("note", { key_width: s.shared === "all" ? "" : view.say("key_width", { width: keyWidth(s) }) })), `${SMALL}; max-width: 42em`));
    return box;
  }

  /** By which factors the counts of a layer grow over the measured lengths. */
  const counted = (s, rows) => rows.map(([length], at) => (at ? Number(layerOf({ ...s, length, shared: "all" })[0]) / Number(layerOf({ ...s, length: rows[at - 1][0], shared: "all" })[0]) : null));

  function clock(s, found) {
    if (!found || typeof found === "string" || !found.rows.length) return [];
    const factors = counted(s, found.rows);
    return [grid(view.say("times"), [view.say("tokens"), view.say("time"), view.say("measured_factor"), view.say("counted_factor")],
      found.rows.map(([length, ms, factor], at) => [`at-${length}`, grouped(length), plain(ms), times(factor), times(factors[at])]))];
  }

  function sentence(s, kept, found) {
    const [whole, attention] = layerOf(s), at = crossing(s), values = { length: grouped(s.length), window: grouped(s.window), share: percent(attention, whole) };
    const key = { window: s.window >= s.length ? "covers" : "in_window", linear: "is_linear" }[s.kind] ?? "square", said = [view.say(key, values)];
    if (at && key !== "in_window") said.push(view.say("crosses", { crossing: grouped(at) }));
    said.push(view.say("one_layer", { ...values, layer: large(whole), gru: large(multiplications(s).gru) }));
    said.push(view.say("in_all", { layers: s.layers, texts: s.texts, total: large(whole * BigInt(s.layers * s.texts)) }));
    const amounts = Object.fromEntries(KEPT.map((name) => [name, bytesInWords(kept[name])])), sum = KEPT.reduce((total, name) => total + kept[name], 0n);
    said.push(view.say(s.kind === "linear" ? "memory_linear" : "memory", { ...amounts, most: word(biggest(kept), s) }));
    said.push(view.say(`fits_${PLACES.find(([bytes]) => sum <= bytes)?.[1] ?? "neither"}`, { sum: bytesInWords(sum) }));
    const grows = Object.fromEntries(Object.entries(growth(s)).map(([name, factors]) => [name, times(factors.at(-1))]));
    said.push(grows.layer === "–" ? view.say("most_heads") : view.say(s.kind === "linear" ? "heads_linear" : "twice_heads", grows));
    return [...said, ...timing(s, found)].join(" ");
  }

  function timing(s, found) {
    if (found === null) return [];
    if (typeof found === "string") return [view.say(found)];
    if (found.problem) return [view.say("raised", found)];
    if (!found.rows.length) return [view.say("too_wide")];
    const listed = found.rows.map(([length, ms, factor], at) => view.say(at ? "row" : "first_row", { length: grouped(length), ms: plain(ms), factor: times(factor) }));
    const said = [view.say("measured", { name: found.name, rows: listed.join("; ") })], longest = found.rows.at(-1)[0];
    if (listed.length > 1) said.push(view.say("counts_say", { factors: counted(s, found.rows).slice(1).map(times).join(", ") }));
    if (s.shared !== "all") said.push(view.say("all_heads"));
    return longest < s.length ? [...said, view.say("stopped", { longest: grouped(longest) })] : said;
  }

  function draw() {
    const s = setting(), kept = memory(s), found = find(s);
    for (const [name, { show }] of Object.entries(sliders)) show(s[name], grouped(s[name]));
    [kind.value, shared.value, size.value] = [s.kind, s.shared, s.size];
    sliders.window.node.disabled = s.kind !== "window";
    view.enable(press, !alone());
    note.hidden = !alone();
    el.dataset.source = typeof found === "string" ? found : found ? "answered" : "unasked";
    clearTimeout(waiting);
    if (found === "waiting") waiting = setTimeout(() => { gone = view.get("measures"); draw(); }, PATIENCE);
    const [left, right] = ["1 1 292px; max-width: 430px", "1 1 440px"].map((flex) => styled(html("div"), `display: grid; gap: 1em; align-content: start; grid-template-columns: minmax(0, 1fr); flex: ${flex}`));
    left.append(chart(s), ...clock(s, found));
    right.append(styled(bars(s, kept), "max-width: 400px"), counts(s, kept));
    view.show(left, right);
    el.found = Object.fromEntries(Object.entries({ ...multiplications(s), ...kept, layer: layerOf(s)[0] }).map(([name, number]) => [name, String(number)]));
    view.live.textContent = sentence(s, kept, found);
  }

  const stop = view.run([...SETTING, "measures", "answer"], draw);
  return () => {
    clearTimeout(waiting);
    stop();
  };
}

/** Which takes the most bytes, the first of equals. */
const biggest = (kept) => KEPT.reduce((most, name) => (kept[name] > kept[most] ? name : most));
/** A node with that style. */
function styled(node, style) {
  node.style.cssText += `; ${style}`;
  return node;
}
export default { render };
