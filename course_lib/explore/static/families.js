import { View, clamp, html, own, seen, svg } from "./shared.js";
import { FAMILIES, gridsOf, keptOf, maskOf, scoresOf, stagesOf } from "./family_masks.js";

const STATE = ["family", "token", "written", "cache"];
const LINE = 26, BETWEEN = 62, HIGHEST = 54; // pixels: a line of tokens, from one to the next, the highest arc

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const sum = (values) => values.reduce((total, value) => total + value, 0);
const wide = (text) => sum([...text].map((letter) => (letter < "\u1100" ? 8 : 14)));

function render({ model, el }) {
  const view = new View(model, el, "families"), source = view.get("source"), target = view.get("target");
  const S = source.length, N = S + 1 + target.length, measured = view.get("measured");
  const radios = choice();
  const written = view.slider("written", [...Array(target.length + 1).keys()], (value) => view.set({ written: value }));
  const cache = view.checkbox("cache", (value) => view.set({ cache: value }));
  view.reset();

  /** The families as radio buttons: one stop of the tab key, arrows go on. */
  function choice() {
    const box = html("div", { role: "radiogroup", "aria-labelledby": `${view.id}-family` });
    box.style.cssText = "display: flex; flex-wrap: wrap; gap: 0.2em 0.9em; flex: 1 1 100%";
    const name = view.label(html("span", { id: `${view.id}-family` }), "family");
    name.style.fontWeight = 600;
    box.append(name);
    view.controls.append(box);
    return FAMILIES.map((family) => {
      const id = `${view.id}-${family}`, line = html("span", { class: "control" });
      const button = own(html("input", { type: "radio", name: `${view.id}-families`, value: family, id }));
      button.addEventListener("change", () => view.set({ family }));
      line.append(button, view.label(html("label", { for: id }), family));
      box.append(line);
      return button;
    });
  }

  /** All that follows from the state. */
  function look() {
    const [family, token, count, keep] = STATE.map((name) => view.get(name)), mask = maskOf(family, S, N);
    const apart = family === "encoder-decoder", writes = family !== "encoder-only";
    const places = [...source, view.get(apart ? "begin" : "separator"), ...target].map(seen);
    const stages = stagesOf(family, S, N, count, keep), grids = gridsOf(family, S, N), rows = measured[family];
    const cells = mask.flatMap((row, at) => row.map((_, key) => [at, key]));
    const differ = (want) => cells.filter(([row, key]) => rows && mask[row][key] === want && rows[row][key] !== want);
    const strips = grids.map(([name, , columns]) => {
      if (!writes || (apart && name === "encoder")) return [];
      return columns.map((key) => (stages[key] === "before" && !keep ? "now" : stages[key]));
    });
    return {
      family, token, count, keep, mask, apart, writes, places, stages, grids, strips, leaks: differ(false), blind: differ(true),
      cached: scoresOf(family, S, N, count, true), anew: scoresOf(family, S, N, count, false), kept: keptOf(family, S, count, keep),
    };
  }

  /** A token of the text: all are one stop of the tab key, arrows go on and back. */
  function choosable(at, { token, mask, places }) {
    const label = view.say("choice", { token: places[at], count: mask[at].filter(Boolean).length, all: N });
    const group = own(svg("g", { role: "button", tabindex: at === token ? 0 : -1, "data-key": `token-${at}`, "aria-pressed": at === token, "aria-label": label }));
    group.style.cursor = "pointer";
    group.addEventListener("click", () => view.set({ token: at }));
    group.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: N - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      view.set({ token: clamp(to, 0, N - 1) });
      const next = view.stage.querySelector(`[data-key="token-${clamp(to, 0, N - 1)}"]`);
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    return group;
  }

  /** The text, and from the chosen token an arc to each that it may see; encoder and decoder have a line each. */
  function text(shown) {
    const { token, mask, places, apart, stages } = shown, names = places.map((name) => cut(name, 9)), sizes = names.map((name) => Math.max(28, wide(name) + 14));
    const lines = apart ? [[...Array(S).keys()], [...Array(N - S).keys()].map((at) => S + at)] : [[...Array(N).keys()]];
    const left = apart ? 14 + Math.max(wide(view.say("reads")), wide(view.say("writes"))) : 2;
    const arc = (far) => Math.min(HIGHEST, 10 + 7 * far), tops = [arc(lines[0].length - 1) + 6], across = Math.max(...lines.map((line) => sum(line.map((at) => sizes[at] + 4))));
    tops.push(tops[0] + LINE + BETWEEN);
    const high = apart ? tops[1] + LINE + arc(lines[1].length - 1) + 6 : tops[0] + LINE + 6;
    const label = view.say("text", { token: places[token] });
    const chart = svg("svg", { viewBox: `0 0 ${left + across} ${high}`, width: left + across, height: high, role: "group", "aria-label": label });
    const spots = {}, ends = lines.map((line, which) => {
      const more = (across - sum(line.map((at) => sizes[at] + 4))) / line.length;
      line.reduce((x, at) => { spots[at] = { x: x + (sizes[at] + 4 + more) / 2, which }; return x + sizes[at] + 4 + more; }, left);
      return which ? tops[1] + LINE : tops[0]; // where the arcs of a line begin: the decoder's hang below it
    });
    const line = (d, at) => chart.append(svg("path", { d, fill: "none", stroke: "var(--line)", "stroke-width": 2, "data-arc": at }));
    mask[token].forEach((sees, at) => {
      const { x, which } = spots[token], to = spots[at].x, up = arc(Math.abs(at - token)) * (which ? -1 : 1);
      if (!sees || at === token) return;
      if (spots[at].which === which) line(`M${x} ${ends[which]}Q${(x + to) / 2} ${ends[which] - 2 * up} ${to} ${ends[which]}`, at);
      else line(`M${x} ${tops[1]}L${to} ${tops[0] + LINE}`, at);
    });
    if (apart) ["reads", "writes"].forEach((key, which) => chart.append(svg("text", { x: 0, y: tops[which] + 18, "font-style": "italic" }, view.say(key))));
    names.forEach((name, at) => {
      const { x, which } = spots[at], group = choosable(at, shown), sees = mask[token][at], mine = at === token;
      const frame = { x: x - sizes[at] / 2, y: tops[which] + 1, width: sizes[at], height: LINE - 2, rx: 4, fill: "var(--paper)", stroke: mine ? "var(--mark)" : sees ? "var(--line)" : "var(--rule)" };
      group.append(svg("rect", { ...frame, "stroke-width": mine ? 3 : sees ? 2 : 1, ...(sees ? {} : { "stroke-dasharray": "3 3" }) }));
      group.append(svg("text", { x, y: tops[which] + 18, "text-anchor": "middle", class: mine ? "strong" : "", style: `font-size: 14px; font-style: ${stages[at] === "later" ? "italic" : "normal"}` }, name));
      chart.append(group);
    });
    return view.scroll(label, chart);
  }

  const LOOKS = {
    now: "background: var(--line); color: var(--paper); border: 1px solid var(--line)",
    before: "background: color-mix(in srgb, var(--line) 35%, var(--paper)); border: 1px solid var(--line)",
    later: "border: 1px solid var(--line)",
    hidden: "border: 1px dashed var(--rule)",
  };
  const CELL = "box-sizing: border-box; min-width: 24px; height: 20px; padding: 0; font-size: 12px; line-height: 1";

  /** One attention: rows are queries, columns keys; below, which keys and values are kept. */
  function grid([name, rows, columns], which, shown) {
    const { token, mask, apart, places, stages, strips, leaks, blind } = shown, grid = html("table"), head = html("tr"), top = html("thead"), body = html("tbody");
    const has = (cells, row, key) => cells.some(([one, other]) => one === row && other === key);
    const stay = (node) => { node.style.cssText += "; position: sticky; left: -5px; z-index: 1; background: var(--paper); text-align: right; white-space: nowrap; padding: 0 0.4em"; return node; };
    const side = (letters) => stay(html("th", { scope: "row" }, letters));
    head.append(styled(stay(html("td", { class: "corner" }, `${view.say("key")} →\n${view.say("query")} ↓`)), "white-space: pre"));
    head.append(...columns.map((key) => styled(html("th", { scope: "col" }, cut(places[key], 6)), "padding: 0 2px; font-size: 12px; white-space: nowrap; vertical-align: bottom")));
    top.append(head);
    for (const row of rows) {
      const line = html("tr"), name = side(cut(places[row], 9)), mine = row === token;
      if (mine) name.classList.add("chosen");
      if (stages[row] === "later") name.style.fontStyle = "italic";
      line.style.cursor = "pointer";
      line.addEventListener("click", () => view.set({ token: row }));
      line.append(name, ...columns.map((key) => {
        const leak = has(leaks, row, key), wrong = leak || has(blind, row, key), sees = mask[row][key], look = sees ? stages[row] : "hidden";
        const cell = html("td", { "data-cell": `${row}-${key}-${look}` }, wrong ? (leak ? "!" : "0") : mine && sees ? "✓" : "");
        styled(cell, `${CELL}; ${wrong ? "border: 3px solid var(--mark); font-weight: 700" : LOOKS[look]}`);
        if (mine && sees && !wrong) cell.classList.add("chosen");
        return cell;
      }));
      body.append(line);
    }
    for (const letter of strips[which].length ? "KV" : "") {
      const line = html("tr");
      line.append(side(letter), ...strips[which].map((stage) => styled(html("td", { "data-strip": `${letter}-${stage}` }, stage === "now" ? "+" : ""), `${CELL}; ${LOOKS[stage]}`)));
      body.append(...(letter === "K" ? [styled(html("tr"), "height: 6px")] : []), line);
    }
    grid.append(top, body);
    const title = view.say(apart ? name : shown.writes ? "self_causal" : "self_full"), box = html("div");
    box.append(html("div", { class: "title" }, title), view.scroll(title, grid));
    return box;
  }

  /** What the squares mean. */
  function legend({ writes, mask }) {
    const box = html("div");
    box.style.cssText = "flex: 1 1 100%; display: flex; flex-wrap: wrap; gap: 0.2em 1.2em; font-size: 12px; margin-top: -0.4em";
    const kinds = ["now", ...(writes ? ["before", "later"] : []), ...(mask.flat().every(Boolean) ? [] : ["hidden"]), "chosen"];
    for (const kind of kinds) {
      const item = html("span"), sign = styled(html("span"), `display: inline-block; box-sizing: border-box; width: 18px; height: 13px; vertical-align: middle; margin-right: 0.4em; ${LOOKS[kind] ?? "outline: 2px solid var(--mark); outline-offset: -2px"}`);
      item.append(sign, view.say(kind));
      box.append(item);
    }
    return box;
  }

  /** Scores and kept numbers, with and without the cache. */
  function counts({ cached, anew, count, family }) {
    const grid = html("table"), top = html("thead"), head = html("tr"), body = html("tbody"), box = html("div"), layers = view.get("num_layers"), width = view.get("d_model");
    const [growing, fixed] = keptOf(family, S, count, true), layer = 2 * (growing + fixed) * width, tokens = fixed ? `(${growing} + ${fixed})` : growing;
    head.append(html("td"), ...["cached", "anew"].map((key) => html("th", { scope: "col" }, view.say(key))));
    for (const [key, ...values] of [
      ["this_pass", grouped(cached.at(-1)), grouped(anew.at(-1))], ["all_passes", grouped(sum(cached)), grouped(sum(anew))],
      ["per_layer", `2 · ${tokens} · ${width} = ${grouped(layer)}`, "0"], ["per_model", grouped(layer * layers), "0"],
    ]) {
      const line = html("tr"), name = html("th", { scope: "row" }, view.say(key, { layers }));
      name.style.textAlign = "left";
      line.append(name, ...values.map((value) => html("td", { "data-count": value }, value)));
      for (const cell of line.children) cell.style.paddingBlock = "0";
      body.append(line);
    }
    top.append(head);
    grid.append(top, body);
    const note = styled(html("div", {}, view.say("score")), "font-size: 12px; max-width: 28em");
    box.append(html("div", { class: "title" }, view.say("counts")), view.scroll(view.say("counts"), grid), note);
    return box;
  }

  function sentence({ family, token, count, keep, mask, apart, writes, places, stages, grids, leaks, blind, cached, anew, kept }) {
    const row = mask[token], crosses = apart && token >= S, listed = (which) => places.filter((_, at) => which(at)).join(", "), said = [view.say(`is_${family}`)];
    said.push(view.say(crosses ? "sees_cross" : "sees", { token: places[token], seen: listed((at) => row[at] && !(crosses && at < S)), source: listed((at) => at < S) }));
    if (!row.every(Boolean)) said.push(view.say("not_seen", { hidden: listed((at) => !row[at]) }));
    said.push(view.say("reach", { count: row.filter(Boolean).length, all: N }));
    if (writes && token >= S) {
      said.push(token + 1 < N ? view.say("next", { next: places[token + 1] }) : view.say("next_end"));
      if (token > S + count) said.push(view.say("not_yet"));
    }
    const rows = stages.filter((stage) => stage === "now").length, now = grouped((keep ? cached : anew).at(-1));
    if (!writes) said.push(view.say("pass_all", { rows, now }));
    else {
      said.push(view.say(rows === 1 ? "pass_row" : "pass_rows", { token: places[S + count], written: count, all: target.length, now, rows }));
      said.push(view.say("so_far", { cached: grouped(sum(cached)), anew: grouped(sum(anew)) }));
      const [growing, fixed] = kept, layer = 2 * (growing + fixed) * view.get("d_model");
      said.push(view.say(!keep ? "keeps_nothing" : fixed ? "keeps_cross" : "keeps", { growing, fixed, layer: grouped(layer), model: grouped(layer * view.get("num_layers")) }));
    }
    if (!measured[family]) return said.join(" ");
    const unseen = leaks.filter(([one, key]) => !grids.some(([, rows, columns]) => rows.includes(one) && columns.includes(key))).length;
    said.push(leaks.length ? view.say("leaks", { count: leaks.length }) : view.say("agrees"));
    if (unseen) said.push(view.say("unseen", { count: unseen }));
    if (blind.length) said.push(view.say("blind", { count: blind.length }));
    return said.join(" ");
  }

  return view.run(STATE, () => {
    const shown = look();
    radios.forEach((radio) => { radio.checked = radio.value === shown.family; });
    written.show(shown.count, view.say("of", { written: shown.count, all: target.length }));
    cache.checked = shown.keep;
    written.node.disabled = cache.disabled = !shown.writes; // an encoder alone writes nothing
    const above = styled(html("div", { class: "stage" }), "flex: 1 1 100%"), costs = shown.writes ? [counts(shown)] : [];
    above.append(text(shown), ...(shown.apart ? costs : [])); // beside whichever is narrow
    view.show(above, ...shown.grids.map((one, which) => grid(one, which, shown)), ...(shown.apart ? [] : costs), legend(shown));
    el.found = shown;
    view.live.textContent = sentence(shown);
  });
}

function cut(token, most) {
  const letters = [...token];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}
/** A node with that style. */
function styled(node, style) {
  node.style.cssText += `; ${style}`;
  return node;
}
export default { render };
