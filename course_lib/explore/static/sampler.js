import { View, chance, clamp, fixed, html, seen, svg } from "./shared.js";
import { FINISHED, GOES_ON, cut, look, sum, tree } from "./beam_tree.js";

const PATIENCE = 3000; // ms, after which a kernel that says nothing may be absent
const BARS = 12, BAR = 22, NAME = 92, LONG = 150, WIDE = 300; // bars, height of one, room for names, length of 1, width of all
const TENTHS = (most) => Array.from({ length: most * 10 + 1 }, (_, at) => at / 10);
const MASSES = Array.from({ length: 21 }, (_, at) => at / 20);
const COUNTS = [...Array.from({ length: 20 }, (_, at) => at + 1), 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000];
const STATE = ["text", "width", "step", "alpha", "node", "temperature", "top_k", "top_p", "draws", "answer", "drawn"];

/** Probabilities of the listed tokens, of all others together, which are equal, and how many tokens are not ruled out. */
export function shares([, logs, others, level], temperature, topK, topP) {
  const warm = temperature || 1, k = temperature === 0 ? 1 : topK ?? Infinity;
  const raise = (log) => Math.exp((log - logs[0]) / warm), raised = logs.slice(0, k).map(raise), each = raise(level);
  const beyond = clamp(k - logs.length, 0, others), total = sum(raised) + beyond * each;
  let kept = raised.length, more = beyond;
  if (topP < 1) {
    const reach = (topP - 16 * Number.EPSILON) * total; // a mass counts as reached where it differs by rounding alone
    let mass = raised[0];
    for (kept = 1; kept < raised.length && mass < reach; kept++) mass += raised[kept];
    more = mass < reach && each ? clamp(Math.ceil((reach - mass) / each), 0, beyond) : 0;
  }
  const left = sum(raised.slice(0, kept)) + more * each;
  return { listed: logs.map((_, at) => (at < kept ? raised[at] / left : 0)), others: (more * each) / left, left: kept + more };
}

/** The likeliest tokens and the rest of a distribution: the model's probabilities, those to draw by, how many are left. */
export function barsOf(distribution, ...how) {
  const [before, now] = [shares(distribution, 1, null, 1), shares(distribution, ...how)], ids = distribution[0].slice(0, BARS);
  const rest = distribution[0].length + distribution[2] - ids.length;
  const cutAt = ({ listed, others }) => [...listed.slice(0, BARS), ...(rest ? [sum(listed.slice(BARS)) + others] : [])];
  return { ids, rest, before: cutAt(before), now: cutAt(now), left: now.left };
}

const plain = (value) => String(+fixed(value));
const near = (values, value) => values.reduce((found, one) => (Math.abs(one - value) < Math.abs(found - value) ? one : found));

function render({ model, el }) {
  const view = new View(model, el, "sampler");
  const texts = view.get("texts"), name = view.get("function"), longest = view.get("max_length"), V = view.get("tokens");
  const alone = Boolean(view.get("alone")), known = { ...view.get("answers") };
  let waiting = 0, gone = null; // a timer, and the text for which no kernel answered in time
  let late = 0, wanted = 0, wantedOf = "", lost = 0; // a timer, which text is to be drawn of what, and which nobody drew
  let scrolled = []; // the tree and the node for which the part in sight was chosen

  const choose = view.control("sentence", html("select"), "change", (node) => view.set({ text: texts[node.value] }));
  choose.append(...texts.map((text, at) => html("option", { value: at }, text)));
  Object.assign(choose.style, { minWidth: 0, maxWidth: "100%" });
  Object.assign(choose.parentElement.style, { maxWidth: "100%", flexWrap: "wrap" }); // on a phone the label stands above
  const width = view.slider("width", [1, 2, 3, 4, 5], (value) => view.set({ width: value }));
  const step = view.slider("step", Array.from({ length: longest + 1 }, (_, at) => at), (value) => view.set({ step: value }));
  const back = view.button("back", () => view.set({ step: at() - 1 }));
  const forward = view.button("forward", () => view.set({ step: at() + 1 }));
  const alpha = view.slider("alpha", TENTHS(2), (value) => view.set({ alpha: value }));
  view.reset().addEventListener("click", () => { wanted = 0; });

  const sampling = html("div", { class: "controls" }), below = html("div", { class: "stage" }), above = view.controls;
  sampling.style.marginTop = "1.2em";
  view.controls = view.into = sampling; // these stand beside what they change
  const counts = [...COUNTS.filter((count) => count < V), null];
  const warmth = view.slider("temperature", TENTHS(3), (value) => view.set({ temperature: value }));
  const topK = view.slider("top_k", counts, (value) => view.set({ top_k: value }));
  const topP = view.slider("top_p", MASSES, (value) => view.set({ top_p: value }));
  if (!alone) view.button("draw", () => {
    [wanted, wantedOf] = [view.get("draws") + 1, view.get("text")];
    view.set({ draws: wanted });
  });
  view.controls = view.into = above;
  view.live.before(sampling, below);

  /** The tree of the present text, or a problem; null as long as the kernel may still answer. */
  function find() {
    const text = view.get("text"), answer = view.get("answer");
    if (answer.for) known[answer.for] = answer;
    if (Object.hasOwn(known, text)) return known[text];
    return alone || gone === text ? { none: true } : null;
  }
  const all = () => find()?.widths?.[view.get("width")].length ?? longest;
  const at = () => Math.min(view.get("step"), all());
  const how = (read) => ({ temperature: plain(read("temperature")), top_k: read("top_k") ?? view.say("off"), top_p: plain(read("top_p")) });

  /** What the drawing says without words, in words. */
  function legend() {
    const box = html("div"), looks = {
      open: "width: 18px; height: 12px; border: 1.5px solid var(--line); border-radius: 4px",
      best: "width: 18px; height: 12px; background: var(--line); border-radius: 4px",
      left: "width: 18px; height: 2px; background: var(--rule)",
      finished: "width: 18px; height: 12px; background: var(--ink); border-radius: 4px",
      band: "width: 18px; height: 12px; background: var(--line); opacity: 0.25; border-radius: 3px",
    };
    box.style.cssText = "display: flex; flex-wrap: wrap; gap: 0.2em 1.2em; font-size: 12px; margin-top: 0.3em";
    for (const [key, css] of Object.entries(looks)) {
      const item = html("span"), sign = html("span");
      sign.style.cssText = `display: inline-block; box-sizing: border-box; vertical-align: middle; margin-right: 0.4em; ${css}`;
      item.append(sign, view.say(key, { width: view.get("width") }));
      box.append(item);
    }
    return box;
  }

  /** The ended texts; rows for all that end in this tree, so that nothing below moves. */
  function table(shown) {
    const grid = html("table"), top = html("thead"), head = html("tr"), body = html("tbody");
    for (const key of ["text", "tokens", "sum", "score"]) head.append(html("th", { scope: "col" }, view.say(key)));
    top.append(head);
    const rows = shown.every.flat().filter(([, fate]) => fate === FINISHED).length;
    for (let at = 0; at < Math.max(1, rows); at++) {
      const line = html("tr"), text = shown.ended[at];
      const cells = text ? [shown.text(text.node), text.length, fixed(text.total), fixed(text.score)] : [at ? "\u00a0" : "–", "", "", ""];
      line.append(...cells.map((value, which) => html("td", text && which === 3 ? { "data-score": text.score } : {}, value)));
      line.firstChild.style.textAlign = "left";
      if (!at && text) for (const cell of line.children) cell.style.fontWeight = 700;
      body.append(line);
    }
    grid.append(top, body);
    const box = html("div");
    box.append(html("div", { class: "title" }, view.say("texts")), view.scroll(view.say("texts"), grid));
    return box;
  }

  /** The likeliest tokens after the node: outlined what the model gives them, filled what they are drawn by. */
  function bars(shown, found) {
    const box = html("div", { class: "chart" }), prefix = shown.prefix(shown.place);
    const title = shown.place ? view.say("next", { prefix, sum: fixed(shown.nodes[shown.place][3]) }) : view.say("next_first");
    box.append(html("div", { class: "title" }, title));
    box.style.minHeight = `${(BARS + 2) * BAR}px`;
    box.style.alignSelf = "flex-start";
    if (!found) box.append(html("div", {}, over(shown)));
    if (!found) return box;
    const names = found.ids.map((token) => cut(shown.symbol(token)));
    if (found.rest) names.push(view.say("rest", { count: found.rest }));
    const said = found.now.map((share, at) => (ruledOut(found, at) ? "0" : chance(share)));
    const chart = svg("svg", { viewBox: `0 0 ${WIDE} ${BAR * names.length}`, role: "img", "aria-label": `${title}: ${names.map((token, at) => `${token} ${said[at]}`).join(", ")}` });
    names.forEach((token, at) => {
      const top = at * BAR, [before, now] = [found.before[at], found.now[at]], pale = ruledOut(found, at) ? "fill: var(--rule)" : "";
      chart.append(svg("text", { x: NAME - 8, y: top + 16, "text-anchor": "end", style: pale }, token));
      chart.append(svg("rect", { x: NAME, y: top + 5, width: LONG * now, height: BAR - 9, fill: "var(--line)", "data-now": now }));
      chart.append(svg("rect", { x: NAME, y: top + 3, width: Math.max(1, LONG * before), height: BAR - 5, fill: "none", stroke: "var(--rule)", "data-before": before }));
      chart.append(svg("text", { x: NAME + LONG * Math.max(now, before) + 8, y: top + 16, style: pale }, said[at]));
    });
    const note = html("div", {}, `${view.say("outlined")}; ${view.say("filled")}`);
    note.style.fontSize = "12px";
    box.append(chart, note);
    return box;
  }
  /** Why nothing follows the node. */
  function over(shown) {
    const ids = shown.path(shown.place);
    return view.say(ids.at(-1) === view.get("eos") ? "over" : "full", { prefix: shown.prefix(shown.place), length: ids.length });
  }
  const ruledOut = (found, at) => (at < found.ids.length ? at >= found.left : found.left <= found.ids.length);

  function drawnTexts() {
    const box = html("div"), list = html("ol"), drawn = view.get("drawn");
    const awaited = wantedOf === view.get("text") && wanted > (drawn.at(-1)?.number ?? 0);
    box.style.flex = "1 1 260px";
    list.style.cssText = "margin: 0; padding-left: 2.2em";
    clearTimeout(late);
    if (awaited && lost !== wanted) late = setTimeout(() => { lost = wanted; redraw(); }, PATIENCE);
    if (awaited) list.append(html("li", { value: wanted }, view.say(lost === wanted ? "not_drawn" : "drawing", { name })));
    for (const entry of [...drawn].reverse()) {
      const line = html("li", { value: entry.number }), note = html("div", {}, view.say("drawn_by", how((key) => entry[key])));
      note.style.fontSize = "12px";
      if (entry.problem) line.append(view.say("stopped", { name, problem: entry.problem }));
      else line.append(`${entry.text}${entry.ended ? "" : " …"} `, html("strong", { "data-sum": entry.sum }, fixed(entry.sum)));
      line.append(note);
      list.append(line);
    }
    box.append(html("div", { class: "title" }, view.say("drawn_texts")), list.childElementCount ? list : view.say("nothing_drawn"));
    return box;
  }

  function sentence(shown, found) {
    const { ended, steps, every, place } = shown, going = steps.length ? steps.at(-1).filter(([, fate]) => fate === GOES_ON).length : 1;
    const said = [view.say("state", { text: view.get("text"), width: view.get("width"), step: steps.length, all: every.length, going, ended: ended.length })];
    if (ended.length) {
      const { node, length, total, score } = ended[0];
      said.push(view.say("front", { alpha: plain(view.get("alpha")), text: shown.text(node), length, sum: fixed(total), score: fixed(score) }));
    }
    const now = (key) => view.get(key);
    if (!found) said.push(over(shown));
    else {
      said.push(view.say(place ? "likeliest" : "likeliest_first", { prefix: shown.prefix(place), token: shown.symbol(found.ids[0]), chance: chance(found.before[0]) }));
      const changed = now("temperature") !== 1 || now("top_k") !== null || now("top_p") !== 1;
      if (changed) said.push(view.say("drawn_with", { ...how(now), chance: chance(found.now[0]), left: found.left, all: V }));
    }
    const last = now("drawn").at(-1);
    if (last && !last.problem) said.push(view.say("last_drawn", { text: last.text, sum: fixed(last.sum) }));
    return said.join(" ");
  }

  function redraw() {
    const text = view.get("text"), answer = find();
    choose.value = texts.indexOf(text);
    width.show(view.get("width"));
    step.node.max = all();
    step.show(at(), view.say("of", { step: at(), all: all() }));
    view.enable(back, at() > 0);
    view.enable(forward, at() < all());
    alpha.show(near(TENTHS(2), view.get("alpha")), plain(view.get("alpha")));
    warmth.show(near(TENTHS(3), view.get("temperature")), plain(view.get("temperature")));
    const count = view.get("top_k");
    topK.show(count === null ? null : near(counts.slice(0, -1), count), count === null ? view.say("off") : String(count));
    topP.show(near(MASSES, view.get("top_p")), plain(view.get("top_p")));
    el.dataset.source = answer === null ? "waiting" : answer.none ? "no_answer" : answer.problem ? "failed" : "answered";
    for (const box of [view.stage, below]) box.style.opacity = answer === null ? 0.5 : 1; // what is left of the last text
    clearTimeout(waiting);
    if (answer === null) waiting = setTimeout(() => { gone = text; redraw(); }, PATIENCE);
    if (!answer?.widths) {
      if (answer) [view.stage, below].forEach((box) => box.replaceChildren());
      el.found = null;
      view.live.textContent = view.say(el.dataset.source, { text, name, problem: answer?.problem });
      return;
    }
    const shown = look(view, answer), following = shown.next[shown.place];
    const found = following && barsOf(following, ...["temperature", "top_k", "top_p"].map((key) => view.get(key)));
    el.found = { drawn: [...shown.drawn], ended: shown.ended, place: shown.path(shown.place), bars: found };
    const top = html("div"), scroll = view.scroll(view.say("tree"), tree(view, shown));
    top.style.flex = "1 1 100%";
    top.append(scroll, legend());
    view.show(top, table(shown));
    below.replaceChildren(bars(shown, found), ...(alone && !view.get("drawn").length ? [] : [drawnTexts()]));
    const looks = [text, view.get("width"), at(), view.get("node")].map(String);
    const moved = scrolled.length ? looks.findIndex((value, which) => value !== scrolled[which]) : -1;
    if (moved >= 0) toView(scroll, scroll.querySelector(moved < 3 ? "[data-now-step]" : "[aria-pressed='true']"));
    scrolled = looks;
    view.live.textContent = sentence(shown, found);
  }

  const stop = view.run(STATE, redraw);
  return () => {
    clearTimeout(waiting);
    clearTimeout(late);
    stop();
  };
}

/** Scroll a box sideways, and nothing else, until a node within it can be seen. */
function toView(box, node) {
  if (!node) return;
  const [outer, inner] = [box, node].map((one) => one.getBoundingClientRect());
  box.scrollLeft += Math.max(0, inner.right + 50 - outer.right) - Math.max(0, outer.left + 20 - inner.left);
}
export default { render };
