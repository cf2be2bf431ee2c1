import { View, clamp, colour, fixed, html, ink, own, seen, softmax } from "./shared.js";

const CHANGED = 1e-5; // an output that moves by less has not changed: float32 rounds
const DENSE = 10; // beyond so many tokens the cells are smaller
const PATIENCE = 3000; // ms, after which a kernel that says nothing counts as absent

/** mask[query][key]: what is opened or closed by hand wins over causal and padding. */
export function build(count, causal, padding, opened, closed) {
  const mask = Array.from({ length: count }, (_, row) => Array.from({ length: count }, (_, key) => !(causal && key > row) && key < count - padding));
  for (const [row, key] of opened) mask[row][key] = true;
  for (const [row, key] of closed) mask[row][key] = false;
  return mask;
}

/** q · k / √D for every pair. */
export const scoresOf = ({ query, key }) =>
  query.map((q) => key.map((k) => q.reduce((sum, part, at) => sum + part * k[at], 0) / Math.sqrt(q.length)));

/** The course's masked attention: a row without any key gets weights 0 and output 0. */
export function attention(vectors, mask) {
  const weights = scoresOf(vectors).map((row, at) => {
    const left = softmax(row.filter((_, key) => mask[at][key]));
    return row.map((_, key) => (mask[at][key] ? left.shift() : 0));
  });
  const output = weights.map((row) => vectors.value[0].map((_, part) => row.reduce((sum, share, key) => sum + share * vectors.value[key][part], 0)));
  return { weights, output };
}

/** What Python's `answer` gives, for the course's own function. */
export function textbook(vectors, others, mask, changed) {
  const { weights, output } = attention(vectors, mask);
  let change = mask.map(() => 0);
  if (changed !== null) {
    const swapped = Object.fromEntries(Object.entries(vectors).map(([name, rows]) => [name, rows.map((row, at) => (at === changed ? others[name][at] : row))]));
    change = attention(swapped, mask).output.map((row, at) => Math.hypot(...row.map((part, to) => part - output[at][to])));
  }
  return { weights, change, broken: [], problem: "" };
}

/** What is worth a sentence; Python's `findings`. */
export function findings(mask, { weights, change, broken }, changed) {
  const rows = mask.map((_, row) => row), sound = rows.filter((row) => !broken.includes(row));
  const any = (row) => mask[row].some(Boolean);
  const moved = sound.filter((row) => changed !== null && change[row] > CHANGED);
  // The replaced token's own query is new, so its output may change whatever it looks at.
  const leaks = moved.filter((row) => !mask[row][changed] && (row !== changed || !any(row)));
  return {
    empty: rows.filter((row) => !any(row)),
    sums: sound.filter((row) => any(row) && Math.abs(weights[row].reduce((sum, share) => sum + share, 0) - 1) > 0.01),
    peeks: sound.flatMap((row) => weights[row].filter((share, key) => !mask[row][key] && Math.abs(share) > CHANGED)).map(Math.abs),
    moved, leaks, blind: changed === null ? [] : sound.filter((row) => !moved.includes(row) && mask[row][changed]),
    most: Math.max(0, ...leaks.map((row) => change[row])),
  };
}

const amount = (value) => (value < 0.005 ? "<0.01" : value > 999 ? ">999" : fixed(value));
function short(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  return Math.abs(value) > 999 ? value.toExponential(0) : fixed(value).replace(/^(-?)0\./, "$1.");
}

function render({ model, el }) {
  const view = new View(model, el, "mask_builder");
  const tokens = view.get("tokens").map(seen), last = tokens.length - 1;
  const dense = tokens.length > DENSE, room = dense ? 6 : 10; // letters of a token that are shown
  const cut = (token) => (token.length > room ? `${token.slice(0, room - 1)}…` : token);
  const vectors = view.get("vectors"), others = view.get("others"), name = view.get("function"), scores = scoresOf(vectors);
  const causal = view.checkbox("causal", (value) => view.set({ causal: value }));
  const padding = view.slider("padding", [...tokens.keys(), tokens.length], (value) => view.set({ padding: value }));
  const changed = view.control("changed", html("select"), "change", (node) => view.set({ changed: node.value === "" ? null : +node.value }));
  changed.append(view.label(html("option", { value: "" }), "none"), ...tokens.map((token, at) => html("option", { value: at }, `${at} ${token}`)));
  view.reset();
  let here = [0, 0]; // the cell that the tab key comes to
  let waiting = 0, gone = ""; // a timer, and the state for which no kernel answered in time

  const maskNow = (opened = view.get("opened"), closed = view.get("closed")) => build(tokens.length, view.get("causal"), view.get("padding"), opened, closed);

  /** Turn a cell round; what then agrees with causal and padding needs no entry. */
  function toggle(row, key) {
    const rest = (trait) => view.get(trait).filter((cell) => cell[0] !== row || cell[1] !== key);
    const value = !maskNow()[row][key], opened = rest("opened"), closed = rest("closed");
    if (maskNow(opened, closed)[row][key] !== value) (value ? opened : closed).push([row, key]);
    const order = (a, b) => a[0] - b[0] || a[1] - b[1];
    view.set({ opened: opened.sort(order), closed: closed.sort(order) });
  }

  /** {source, ...answer}: the kernel's where it is about this state, else the textbook's, else nothing yet. */
  function find(mask, changed, state) {
    const answer = view.get("answer");
    clearTimeout(waiting);
    if (name && answer.for === state) {
      const read = (values) => values.map(Number); // "NaN" and "Infinity" come as text
      return { ...answer, weights: answer.weights.map(read), change: read(answer.change), source: "by_yours" };
    }
    if (name && !view.get("alone") && gone !== state) {
      waiting = setTimeout(() => { gone = state; draw(); }, PATIENCE);
      return { source: "waiting" };
    }
    return { ...textbook(vectors, others, mask, changed), source: name ? "no_answer" : "by_course" };
  }

  function cell(row, key, mask, shown) {
    const hidden = !mask[row][key], share = shown.weights?.[row]?.[key];
    const score = hidden ? "−∞" : short(scores[row][key]);
    const weight = shown.source === "waiting" ? "…" : share === undefined ? "?" : hidden && share === 0 ? "0" : short(share);
    const peeks = hidden && Math.abs(share) > CHANGED;
    const mine = here[0] === row && here[1] === key;
    const node = own(html("button", { type: "button", "data-key": `cell-${row}-${key}`, "aria-pressed": !hidden, tabindex: mine ? 0 : -1 }));
    node.setAttribute("aria-label", view.say("cell", { row, column: key, query: tokens[row], key: tokens[key], score, weight }));
    node.dataset.weight = share;
    const filled = !(hidden && !peeks) && Number.isFinite(share);
    const paper = filled ? colour(share) : "var(--paper)";
    Object.assign(node.style, {
      display: "block", width: "100%", minWidth: dense ? "2.7em" : "3.3em", padding: dense ? "0.1em 0" : "0.1em 0.3em",
      fontSize: dense ? "11px" : "13px", lineHeight: 1.25, background: paper, color: filled ? ink(paper) : "var(--ink)",
      border: peeks ? "3px solid var(--mark)" : hidden ? "1px dashed var(--rule)" : "1px solid var(--rule)",
    });
    const top = html("span", {}, score), bottom = html("span", {}, peeks ? `! ${weight}` : weight);
    top.style.cssText = `display: block; font-size: ${dense ? 10 : 11}px`;
    bottom.style.cssText = `display: block; white-space: nowrap; font-weight: ${hidden && !peeks ? 400 : 700}`;
    node.append(top, bottom);
    node.addEventListener("click", () => { here = [row, key]; toggle(row, key); });
    node.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: [row, key + 1], ArrowLeft: [row, key - 1], ArrowDown: [row + 1, key], ArrowUp: [row - 1, key] };
      const to = { ...steps, Home: [row, 0], End: [row, last] }[event.key];
      if (!to) return;
      event.preventDefault();
      node.tabIndex = -1;
      here = to.map((place) => clamp(place, 0, last));
      const next = view.stage.querySelector(`[data-key="cell-${here.join("-")}"]`);
      next.tabIndex = 0;
      next.focus();
    });
    return node;
  }

  /** A token on an axis, with what is special about it in words. */
  function label(at, scope, notes) {
    const node = html("th", { scope }, `${at}${scope === "col" && dense ? "\n" : " "}${cut(tokens[at])}`);
    node.style.cssText = `white-space: pre; vertical-align: ${scope === "col" ? "top" : "middle"}; font-size: ${dense ? 11 : 13}px`;
    for (const key of notes) {
      const note = html("span", {}, view.say(key));
      note.style.cssText = "display: block; font-size: 11px; font-style: italic; color: var(--mark)";
      node.append(note);
    }
    return node;
  }

  function table(mask, shown, found) {
    const grid = html("table"), top = html("thead"), head = html("tr"), body = html("tbody");
    const chosen = view.get("changed"), real = tokens.length - view.get("padding");
    head.append(html("td", { class: "corner" }, `${view.say("key")} →\n${view.say("query")} ↓`));
    tokens.forEach((_, at) => head.append(label(at, "col", [...(at >= real ? ["pad"] : []), ...(at === chosen ? ["new"] : [])])));
    for (const key of ["sum", "change"]) head.append(html("th", { scope: "col" }, view.say(key)));
    // Where the grid is wider than the page, the names and the changes stay in sight while it scrolls.
    const stay = (node, side) => { node.style.cssText += `; position: sticky; ${side}: -5px; z-index: 1; background: var(--paper)`; };
    stay(head.firstChild, "left");
    stay(head.lastChild, "right");
    head.lastChild.style.width = "6.5em";
    top.append(head);
    tokens.forEach((_, row) => {
      const line = html("tr");
      const name = label(row, "row", mask[row].some(Boolean) ? [] : ["none_left"]);
      name.style.textAlign = "left";
      stay(name, "left");
      line.append(name);
      tokens.forEach((_, key) => {
        const box = html("td");
        box.style.padding = "0";
        box.append(cell(row, key, mask, shown));
        line.append(box);
      });
      const total = shown.weights?.[row]?.reduce((sum, share) => sum + share, 0), size = shown.change?.[row];
      const wrong = found?.sums.includes(row), leak = found?.leaks.includes(row);
      const sum = html("td", {}, total === undefined ? "" : `${short(total)}${wrong ? " ≠ 1" : ""}`);
      const moved = size === undefined ? "" : !Number.isFinite(size) ? short(size) : size > CHANGED ? amount(size) : "0";
      const move = html("td", { "data-change": size }, chosen === null && moved === "0" ? "" : leak ? `${view.say("leaks")} ${moved}` : moved);
      if (wrong) sum.classList.add("chosen");
      if (leak) move.classList.add("chosen");
      move.style.whiteSpace = "nowrap";
      stay(move, "right");
      line.append(sum, move);
      body.append(line);
    });
    grid.append(top, body);
    return grid;
  }

  function sentence(mask, shown, found, chosen) {
    const parts = [view.say("open", { open: mask.flat().filter(Boolean).length, all: mask.length ** 2 })];
    parts.push(shown.problem ? view.say("problem", { name, problem: shown.problem }) : view.say(shown.source, { name }));
    if (!found) return parts.join(" ");
    const listed = (key, rows, values = {}) => parts.push(view.say(key, { rows: rows.join(", "), ...values }));
    for (const [key, rows] of [["empty", found.empty], ["broken", shown.broken], ["sums", found.sums]]) if (rows.length) listed(key, rows);
    if (found.peeks.length) listed("peeks", [], { count: found.peeks.length, most: amount(Math.max(...found.peeks)) });
    if (chosen !== null) {
      listed(found.moved.length ? "moved" : "still", found.moved, { at: chosen, token: tokens[chosen] });
      listed(found.leaks.length ? "leak" : "tight", found.leaks, { most: amount(found.most) });
      if (found.blind.length) listed("blind", found.blind);
    }
    return parts.join(" ");
  }

  function draw() {
    const mask = maskNow(), chosen = view.get("changed");
    const state = `${mask.map((row) => row.map(Number).join("")).join("/")}:${chosen ?? ""}`;
    const shown = find(mask, chosen, state);
    const found = shown.source === "waiting" || shown.problem ? null : findings(mask, shown, chosen);
    causal.checked = view.get("causal");
    padding.show(view.get("padding"));
    changed.value = chosen ?? "";
    el.found = { mask, ...shown, ...found };
    el.dataset.source = shown.source;
    const box = view.scroll(view.say("grid"), table(mask, shown, found));
    box.style.scrollPadding = "0 7em"; // a cell that gets the focus comes out from under the columns that stay
    view.show(box);
    view.live.textContent = sentence(mask, shown, found, chosen);
  }
  const stop = view.run(["causal", "padding", "opened", "closed", "changed", "answer"], draw);
  return () => { clearTimeout(waiting); stop(); };
}
export default { render };
