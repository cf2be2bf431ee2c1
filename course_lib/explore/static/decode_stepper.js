import { View, chance, clamp, colour, fixed, html, ink, own, seen, svg } from "./shared.js";

const BAR = 24, NAME = 74, WIDE = 300, LONG = 150; // of the bars: height, room for names, width, length of probability 1

/** The error on show: {place, token, steps from there on}; null where none is, or none is possible. */
export function errorOf(run, symbols, place, name) {
  const found = (run.errors[place] || []).find(([token]) => symbols[token] === name);
  return found ? { place, token: found[0], steps: found[2] } : null;
}

/** One object a step of the run on show: what it reads and writes, and what it would write without the error. */
export function linesOf(run, symbols, forcing, error) {
  let steps = run.plain, reads = run.reads;
  if (error) {
    const later = forcing ? reads.slice(error.place) : error.steps.slice(0, -1).map(([ids]) => ids[0]);
    steps = [...steps.slice(0, error.place - 1), ...error.steps];
    reads = [...reads.slice(0, error.place - 1), error.token, ...later];
  }
  return steps.map(([ids, shares, moved], at) => ({
    reads: symbols[reads[at]], writes: symbols[ids[0]], moved, shares, top: ids.map((id) => symbols[id]),
    without: at < run.plain.length ? symbols[run.plain[at][0][0]] : null,
  }));
}

/** How far the error goes, from its place on, in numbers. */
export function spreadOf(run, symbols, error, lines) {
  const later = lines.slice(error.place - 1), moved = later.map((line) => line.moved).filter((value) => value !== null);
  const most = Math.max(...moved);
  return {
    was: seen(symbols[run.reads[error.place - 1]]),
    // Steps that only the undisturbed run has differ too.
    differ: later.filter((line) => line.writes !== line.without).length + Math.max(0, run.plain.length - lines.length),
    rest: Math.max(lines.length, run.plain.length) - error.place + 1,
    mean: fixed(moved.reduce((sum, value) => sum + value, 0) / moved.length),
    most: fixed(most),
    at: error.place + moved.indexOf(most),
  };
}

function render({ model, el }) {
  const view = new View(model, el, "decode_stepper");
  const all = view.get("steps"), symbols = view.get("symbols"), runs = view.get("runs");
  const run = () => runs[view.get("forcing") ? "forced" : "free"];
  const go = (step) => view.set({ step: clamp(step, 1, all) });
  const steps = view.slider("step", Array.from({ length: all }, (_, at) => at + 1), go);
  const back = view.button("back", () => go(view.get("step") - 1));
  const forward = view.button("forward", () => go(view.get("step") + 1));
  const forcing = view.checkbox("forcing", (value) => view.set({ forcing: value }));
  const instead = view.control("instead", html("select"), "change", (node) => {
    const chosen = (run().errors[view.get("step")] || [])[node.value];
    if (chosen) view.set({ inject_at: view.get("step"), inject_token: symbols[chosen[0]] });
    else view.set({ inject_at: 0, inject_token: "" });
  });
  const undo = view.button("undo", () => view.set({ inject_at: 0, inject_token: "" }));
  view.reset();

  /** What the present step may read: as it is, or one of the likeliest others. */
  function choices(step, error) {
    const read = run().reads[step - 1];
    const others = (run().errors[step] || []).map(([token, share]) => view.say("swap", { token: seen(symbols[token]), share: chance(share) }));
    const asItIs = read === undefined ? view.say("nothing") : view.say("as_is", { token: seen(symbols[read]) });
    instead.replaceChildren(...[asItIs, ...others].map((text, at) => html("option", { value: at ? at - 1 : "" }, text)));
    const chosen = error?.place === step ? run().errors[step].findIndex(([token]) => token === error.token) : "";
    instead.value = String(chosen);
  }

  /** A step's number: one stop of the tab key for all, arrows between them. */
  function head(line, at, step, count) {
    const mine = at + 1 === step;
    const button = own(html("button", { type: "button", class: mine ? "chosen" : "", "data-key": `step-${at + 1}`, "aria-pressed": mine }, at + 1));
    // Where the step on show is beyond this run's end, the last one is the stop.
    button.tabIndex = mine || (step > count && at + 1 === count) ? 0 : -1;
    button.setAttribute("aria-label", view.say("column", { step: at + 1, read: line ? seen(line.reads) : view.say("nothing"), written: line ? seen(line.writes) : view.say("nothing") }));
    button.addEventListener("click", () => go(at + 1));
    button.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 2, ArrowLeft: at, Home: 1, End: count }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(clamp(to, 1, count));
      view.stage.querySelector(`[data-key="step-${clamp(to, 1, count)}"]`)?.focus({ preventScroll: true });
    });
    return button;
  }

  function strip(lines, error, step) {
    const count = Math.max(lines.length, run().plain.length), from = error ? error.place - 1 : count;
    const table = html("table"), top = html("tr"), heads = html("thead"), body = html("tbody");
    top.append(title("step"));
    for (let at = 0; at < count; at++) {
      const cell = html("th", { scope: "col" });
      cell.append(head(lines[at], at, step, count));
      top.append(cell);
    }
    heads.append(top);
    const cells = {
      reads(cell, line, at) {
        if (at !== from) return cell.append(cut(line.reads));
        cell.append(html("strong", {}, `${cut(symbols[run().reads[at]])}→${cut(line.reads)}`));
      },
      writes(cell, line) { cell.append(line.writes === line.without ? cut(line.writes) : html("strong", {}, cut(line.writes))); },
      without(cell, line, at) {
        const plain = run().plain[at];
        if (at >= from) cell.append(line && line.writes === line.without ? "=" : plain ? cut(symbols[plain[0][0]]) : "–");
      },
      moved(cell, line, at) {
        if (at < from) return;
        cell.textContent = line.moved === null ? "–" : fixed(line.moved).replace(/^0/, "");
        if (line.moved === null) return;
        cell.style.background = colour(line.moved);
        cell.style.color = ink(colour(line.moved));
        cell.title = line.moved;
      },
    };
    for (const [name, put] of Object.entries(cells)) {
      const row = html("tr");
      row.append(title(name));
      for (let at = 0; at < count; at++) {
        const cell = html("td");
        if (lines[at] || name === "without") put(cell, lines[at], at);
        else cell.textContent = "–";
        if (at + 1 === step) cell.style.outline = "2px solid var(--mark)";
        row.append(cell);
      }
      body.append(row);
    }
    table.append(heads, body);
    const box = html("div");
    box.style.flex = "1 1 100%"; // the bars stand below it, side by side
    if (view.get("source")) box.append(html("div", { class: "title" }, view.say("source", { text: view.get("source") })));
    box.append(view.scroll(view.say("line"), table));
    return box;
  }

  /** The name of a row; it stays in sight where the line is wider than the page. */
  function title(key) {
    const cell = html("th", { scope: "row" }, view.say(key));
    Object.assign(cell.style, { position: "sticky", left: 0, background: "var(--paper)", textAlign: "right", whiteSpace: "nowrap" });
    return cell;
  }

  function bars(title, tokens, shares) {
    const name = `${title}: ${tokens.map((token, at) => `${seen(token)} ${chance(shares[at])}`).join(", ")}`;
    const chart = svg("svg", { viewBox: `0 0 ${WIDE} ${BAR * tokens.length}`, role: "img", "aria-label": name });
    tokens.forEach((token, at) => {
      const y = at * BAR, end = NAME + LONG * shares[at];
      chart.append(svg("text", { x: NAME - 8, y: y + 16, "text-anchor": "end", class: at ? "" : "strong" }, cut(token)));
      chart.append(svg("rect", { x: NAME, y: y + 4, width: Math.max(1, end - NAME), height: BAR - 8, fill: "var(--line)", "data-share": shares[at] }));
      chart.append(svg("text", { x: end + 8, y: y + 16, class: at ? "" : "strong" }, chance(shares[at])));
    });
    const box = html("div", { class: "chart" });
    box.append(html("div", { class: "title" }, title), chart);
    return box;
  }

  return view.run(["step", "forcing", "inject_at", "inject_token"], () => {
    const [step, forced, place, name] = ["step", "forcing", "inject_at", "inject_token"].map((key) => view.get(key));
    const error = errorOf(run(), symbols, place, name), lines = linesOf(run(), symbols, forced, error), line = lines[step - 1];
    steps.show(step, view.say("of", { step, all: lines.length }));
    view.enable(back, step > 1);
    view.enable(forward, step < lines.length);
    forcing.checked = forced;
    view.enable(undo, place > 0);
    choices(step, error);
    const drawn = [strip(lines, error, step)], plain = run().plain[step - 1];
    if (line) drawn.push(bars(view.say("next", { step }), line.top, line.shares));
    if (plain && error && step >= place) drawn.push(bars(view.say("next_without"), plain[0].map((id) => symbols[id]), plain[1]));
    view.show(...drawn);
    toView(view.stage.querySelector(".scroll"), view.stage.querySelector(`[data-key="step-${step}"]`));
    el.shown = lines;
    const values = { step, all: lines.length, mode: view.say(forced ? "forcing" : "free"), place, token: seen(name) };
    const here = line ? view.say("here", { ...values, read: seen(line.reads), written: seen(line.writes), share: chance(line.shares[0]) }) : view.say("ended", values);
    const then = error ? view.say("spread", { ...values, ...spreadOf(run(), symbols, error, lines) }) : view.say(place ? "impossible" : "untouched", values);
    view.live.textContent = `${here} ${then}`;
  });
}

/** Scroll a box sideways, and nothing else, until a node within it can be seen. */
function toView(box, node) {
  if (!node) return;
  const [outer, inner] = [box, node].map((one) => one.getBoundingClientRect());
  const names = box.querySelector("th").getBoundingClientRect().right; // they cover what is scrolled beneath them
  box.scrollLeft += Math.max(0, inner.right + 8 - outer.right) - Math.max(0, names + 8 - inner.left);
}

function cut(token) {
  token = seen(token);
  return token.length > 9 ? `${token.slice(0, 8)}…` : token;
}
export default { render };
