import { View, best, chance, clamp, fixed, html, own, seen, svg } from "./shared.js";

const PATIENCE = 3000; // ms, after which a kernel that says nothing may be absent
const LONGEST = 200; // letters of a sentence
const PITCH = 26, GAP = 130, BAR = 40, NARROW = 24; // pixels: of a column, between the rows, of a bar, of a bar on a phone
const FAINT = 0.15; // the least opacity of a line that can be seen

/** Who looks where in one layer (heads, T, S): in one head, or with null in the mean of all. */
export function looks(layer, head) {
  if (head !== null) return layer[head];
  return layer[0].map((row, at) => row.map((_, to) => layer.reduce((sum, one) => sum + one[at][to], 0) / layer.length));
}

function render({ model, el }) {
  const view = new View(model, el, "translator");
  const examples = Object.keys(view.get("translations")), name = view.get("function");
  let waiting = 0, gone = null; // a timer, and the text for which no kernel answered in time
  let composing = false, late = false; // an input method is at work; something was to be drawn meanwhile
  let written = null, width = 0; // the text that stands in the field because it is the state; for which width all is drawn

  const go = (text) => view.set({ text, row: 0 });
  const choose = view.control("example", html("select"), "change", (node) => go(examples[node.value]));
  choose.append(view.label(html("option", { value: "", disabled: "" }), "typed"), ...examples.map((text, at) => html("option", { value: at }, text)));
  const field = html("input", { type: "text", maxlength: LONGEST, size: 26, autocomplete: "off", spellcheck: "false", enterkeyhint: "go" });
  view.control("sentence", field, "compositionstart", () => { composing = true; });
  field.addEventListener("compositionend", () => {
    composing = false;
    if (late) draw();
  });
  field.addEventListener("keydown", (event) => {
    // The Enter that ends a composition is no wish to translate; Safari sends it after the end, as key 229.
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    ask();
  });
  for (const node of [choose, field]) {
    Object.assign(node.style, { minWidth: 0, maxWidth: "100%", border: "1px solid var(--rule)", borderRadius: "3px", padding: "0.15em 0.4em" });
    Object.assign(node.parentElement.style, { maxWidth: "100%", flexWrap: "wrap" }); // on a phone the label stands above
  }
  const press = view.button("ask", ask);
  field.after(press);
  const note = view.label(html("span"), "alone");
  view.controls.append(note);
  const layer = view.control("layer", html("select"), "change", (node) => view.set({ layer: +node.value }));
  const head = view.control("head", html("select"), "change", (node) => view.set({ head: node.value === "" ? null : +node.value }));
  const mean = view.label(html("option", { value: "" }), "mean");
  const back = view.button("back", () => look(place() - 1));
  const forward = view.button("forward", () => look(place() + 1));
  view.reset().addEventListener("click", () => { field.value = view.get("text"); });

  function ask() {
    if (view.get("alone")) return;
    gone = null;
    if (field.value === view.get("text")) draw();
    else go(field.value);
  }

  /** The answer to the present text, or a problem; null as long as the kernel may still answer. */
  function find() {
    const text = view.get("text"), known = view.get("translations"), answer = view.get("answer");
    if (Object.hasOwn(known, text)) return known[text];
    if (answer.for === text) return answer;
    return view.get("alone") || gone === text ? { problem: "no_answer", values: { text } } : null;
  }

  const last = () => (find()?.target?.length ?? 1) - 1;
  const place = () => Math.min(view.get("row"), last());
  const look = (row) => view.set({ row: clamp(row, 0, last()) });
  const where = () => view.say(view.get("head") === null ? "where_mean" : "where_head", { layer: view.get("layer") + 1, head: view.get("head") + 1 });

  /** Numbers as options, made anew only where there are others: a list that is open stays so. */
  function count(node, most, ...first) {
    if (node.options.length === most + first.length) return;
    node.replaceChildren(...first, ...Array.from({ length: most }, (_, at) => html("option", { value: at }, at + 1)));
  }

  /** A written token: all are one stop of the tab key, arrows go on and back. */
  function choosable(at, { source, target, probability }, weights) {
    const most = best(weights[at]), mine = at === place();
    const label = [view.say("token", { token: seen(target[at]), most: seen(source[most]), share: fixed(weights[at][most]) })];
    if (probability.length) label.push(view.say("likely", { chance: chance(probability[at]) }));
    const group = own(svg("g", { role: "button", tabindex: mine ? 0 : -1, "data-key": `row-${at}`, "aria-pressed": mine, "aria-label": label.join(", ") }));
    group.style.cursor = "pointer";
    for (const event of ["click", "pointerenter"]) group.addEventListener(event, () => look(at));
    group.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last() }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      look(to);
      view.stage.querySelector(`[data-key="row-${clamp(to, 0, last())}"]`)?.focus({ preventScroll: true });
    });
    return group;
  }

  /** Where everything stands: source above and written tokens below; where that is too wide, left and right. */
  function layout(source, target, names) {
    const sizes = [source, target].map((side) => side.map((token) => Math.max(46, wide(token) + 18)));
    const left = 12 + Math.max(...Object.values(names).map(wide)), total = Math.max(...sizes.map(sum));
    if (left + total + 4 <= width) {
      const base = 16 + BAR, [above, below] = sizes.map((side) => spread(side, left, total)), down = base + 28 + GAP;
      return {
        across: true, wide: left + total + 4, high: down + 42,
        names: { weight: [0, base - 6], source: [0, base + 19], target: [0, down + 17], probability: [0, down + 37] },
        source: above.map((x) => ({ token: [x, base + 19], end: [x, base + 28], value: [x, base - 5], bar: [x - 9, base] })),
        target: below.map((x) => ({ token: [x, down + 17], end: [x, down], value: [x, down + 37] })),
      };
    }
    const [from, to] = [source, target].map((side) => Math.max(...side.map(wide))), many = Math.max(source.length, target.length);
    const right = 42 + NARROW + Math.max(from, wide(names.weight) + wide(names.source) - 30);
    const rest = right + 16 + Math.max(to + 52, wide(names.target) + wide(names.probability) + 12), gap = clamp(width - rest, 50, GAP);
    const [one, other] = [source, target].map((side) => spread(side.map(() => PITCH), 22, PITCH * many));
    return {
      across: false, wide: rest + gap, high: 30 + PITCH * many,
      names: { weight: [0, 13], source: [right, 13, "end"], target: [right + 16 + gap, 13], probability: [rest + gap, 13, "end"] },
      source: one.map((y) => ({ token: [right, y + 5, "end"], end: [right + 8, y], value: [0, y + 4], bar: [32, y - 5] })),
      target: other.map((y) => ({ token: [right + 16 + gap, y + 5], end: [right + 8 + gap, y], value: [rest + gap, y + 4, "end"] })),
    };
  }

  function drawing(answer, weights, at) {
    const [source, target] = ["source", "target"].map((side) => answer[side].map(cut)), most = best(weights[at]);
    const names = Object.fromEntries(["weight", "source", "target", "probability"].map((key) => [key, view.say(key)]));
    if (!answer.probability.length) names.probability = "";
    const plan = layout(source, target, names), middle = plan.across ? "middle" : "start";
    const chart = svg("svg", { viewBox: `0 0 ${plan.wide} ${plan.high}`, width: plan.wide, height: plan.high, role: "group", "aria-label": view.say("lines") });
    const text = ([x, y, anchor = middle], shown, more = {}) => svg("text", { x, y, "text-anchor": anchor, ...more }, shown);
    const large = { style: "font-size: 14px" };
    const frame = ({ token: [x, y, anchor = middle] }, shown, more) => {
      const size = wide(shown) + 14, from = { middle: x - size / 2, start: x - 6, end: x - size + 6 }[anchor];
      return svg("rect", { x: from, y: y - 17, width: size, height: 23, rx: 4, ...more });
    };
    for (const [key, [x, y, anchor = "start"]] of Object.entries(plan.names)) chart.append(text([x, y, anchor], names[key], { "font-style": "italic" }));
    const line = (from, to, more) => chart.append(svg("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...more }));
    weights.forEach((row, other) => { // of the tokens not looked at, the strongest line alone
      if (other !== at && Math.max(...row) > 0) line(plan.target[other].end, plan.source[best(row)].end, { stroke: "var(--rule)" });
    });
    weights[at].forEach((share, to) => {
      if (share >= 0.005) line(plan.target[at].end, plan.source[to].end, { stroke: "var(--line)", "stroke-opacity": FAINT + (1 - FAINT) * share, "stroke-width": 1.5 + 5 * share });
    });
    plan.source.forEach((spot, to) => {
      const share = weights[at][to], long = share * (plan.across ? BAR : NARROW), [x, y] = spot.bar, [left, low, ...rest] = spot.value;
      const size = plan.across ? { x, y: y - long, width: 18, height: long } : { x, y, width: long, height: 10 };
      chart.append(svg("rect", { ...size, fill: "var(--line)" }), text([left, plan.across ? low - long : low, ...rest], fixed(share), { "data-weight": share }));
      if (to === most && share > 0) chart.append(frame(spot, source[to], { fill: "none", stroke: "var(--line)", "stroke-width": 2 }));
      chart.append(text(spot.token, source[to], large));
    });
    plan.target.forEach((spot, row) => {
      const group = choosable(row, answer, weights), mine = row === at;
      group.append(frame(spot, target[row], { fill: "transparent", stroke: mine ? "var(--mark)" : "none", "stroke-width": 2 }));
      group.append(text(spot.token, target[row], { ...large, class: mine ? "strong" : "" }));
      if (answer.probability.length) group.append(text(spot.value, chance(answer.probability[row]), { "data-chance": answer.probability[row] }));
      chart.append(group);
    });
    return chart;
  }

  function sentence(answer, weights, at) {
    const text = view.get("text"), most = best(weights[at]), share = weights[at][most];
    const said = [view.say(answer.text ? "becomes" : "nothing_written", { text, translation: answer.text })];
    const values = { at: at + 1, all: weights.length, token: seen(answer.target[at]), most: seen(answer.source[most]), share: fixed(share), where: where() };
    said.push(view.say(share > 0 ? "looks" : "nowhere", values));
    if (answer.probability.length) said.push(view.say("chance", { chance: chance(answer.probability[at]) }));
    if (!answer.ended) said.push(view.say("unended"));
    return said.join(" ");
  }

  function draw() {
    late = composing; // nothing changes under the hands of somebody who is composing a letter
    if (composing) return;
    const text = view.get("text"), answer = find(), alone = Boolean(view.get("alone"));
    if (text !== written) field.value = written = text;
    choose.value = examples.includes(text) ? examples.indexOf(text) : "";
    [field.disabled, note.hidden] = [alone, !alone];
    view.enable(press, !alone);
    const [layers, heads] = view.get("shape");
    count(layer, layers ?? 1);
    count(head, heads ?? 0, mean);
    layer.value = view.get("layer");
    head.value = view.get("head") ?? "";
    width = view.stage.clientWidth;
    el.dataset.source = answer === null ? "waiting" : answer.problem ?? "answered";
    view.stage.style.opacity = answer === null ? 0.5 : 1; // what is left of the last sentence
    clearTimeout(waiting);
    if (answer === null) waiting = setTimeout(() => { gone = text; draw(); }, PATIENCE);
    view.enable(back, place() > 0);
    view.enable(forward, place() < last());
    if (answer === null) view.live.textContent = view.say("waiting", { text, name });
    else if (answer.problem) {
      el.found = null;
      view.show();
      view.live.textContent = view.say(answer.problem, answer.values);
    } else show(answer, text);
  }

  function show(answer, text) {
    const weights = looks(answer.cross[view.get("layer")], view.get("head")), at = place();
    const title = html("div", {}, `${text} → `);
    title.style.cssText = "flex: 1 1 100%; font-size: 1.15em; overflow-wrap: anywhere";
    title.append(html("strong", {}, answer.text || "–"));
    view.show(title, drawing(answer, weights, at));
    el.found = { weights, at, text: answer.text };
    view.live.textContent = sentence(answer, weights, at);
  }

  const stop = view.run(["text", "layer", "head", "row", "answer", "shape"], draw);
  const sized = new ResizeObserver(() => requestAnimationFrame(() => view.stage.clientWidth !== width && draw()));
  sized.observe(view.controls);
  return () => {
    clearTimeout(waiting);
    sized.disconnect();
    stop();
  };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
/** The middles of things of these sizes, one after another, with what is left of the total between them. */
function spread(sizes, from, total) {
  const more = (total - sum(sizes)) / sizes.length;
  return sizes.map((size, at) => from + sum(sizes.slice(0, at)) + size / 2 + more * (at + 0.5));
}
function cut(token) {
  const letters = [...seen(token)];
  return letters.length > 12 ? `${letters.slice(0, 11).join("")}…` : letters.join("");
}
/** Pixels that a text takes, a Korean letter more than a Latin one. */
const wide = (text) => sum([...text].map((letter) => (letter < "\u1100" ? 8 : 14)));
export default { render };
