// What every explorable shares: elements, labelled controls, colours, the live sentence.
// Python puts this file in front of each widget's own and drops its `import` line, so one module reaches the page.

const SVG = "http://www.w3.org/2000/svg";
const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
let count = 0; // views on this page, so that ids never meet

function fill(node, attributes, text) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
export const html = (name, attributes = {}, text) => fill(document.createElement(name), attributes, text);
export const svg = (name, attributes = {}, text) => fill(document.createElementNS(SVG, name), attributes, text);

/** Lab and Notebook 7 leave the keys of such an element alone; on a parent the attribute comes too late. */
export const own = (node) => fill(node, { "data-lm-suppress-shortcuts": "true" });

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const colour = (share) => CIVIDIS[clamp(Math.floor(share * CIVIDIS.length), 0, CIVIDIS.length - 1)];

/** As text with two digits; the last bits, which Python may have otherwise, decide nothing, and there is no "-0.00". */
export function fixed(value) {
  const text = (Math.floor(value * 1e9 + 0.5) / 1e9).toFixed(2);
  return text === "-0.00" ? "0.00" : text;
}

/** Index of the largest share, the first of those that are equal but for their last bits. */
export function best(shares) {
  const most = Math.max(...shares);
  return shares.findIndex((share) => share >= most - 1e-9);
}

/** Black or white, whichever is read better on that colour (WCAG's relative luminance). */
export function ink(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

export function softmax(scores) {
  const most = Math.max(...scores);
  const raised = scores.map((score) => Math.exp(score - most));
  const total = raised.reduce((sum, part) => sum + part, 0);
  return raised.map((part) => part / total);
}

const SHORT = new Map([["<pad>", "PAD"], ["<bos>", "BOS"], ["<eos>", "EOS"], ["<unk>", "UNK"]]);
/** A token as it is said: spaces can be seen. */
export const seen = (token) => SHORT.get(token) ?? (token.trim() === "" ? "␣" : token);
/** A probability as text with three digits. */
export const chance = (share) => (share >= 0.0005 ? (Math.floor(share * 1000 + 0.5) / 1000).toFixed(3) : "<0.001");

/** The colours from the lowest value to the highest, with a label at either end. */
export function colourBar(lowest, highest) {
  const box = html("div"), colours = html("span");
  box.style.cssText = "display: flex; gap: 0.4em; align-items: center; font-size: 12px";
  colours.style.cssText = `width: 7em; height: 0.8em; background: linear-gradient(90deg, ${Array.from({ length: 10 }, (_, at) => `${colour(at / 10)} ${at * 10}% ${at * 10 + 10}%`).join(", ")})`;
  box.append(lowest, colours, highest);
  return box;
}

/** Rows of values as a group with cells of size 1, coloured by `share(value)` from 0 to 1: all cells of one colour are one path, so that thousands stay quick. */
export function mosaic(rows, share) {
  const group = svg("g", { "shape-rendering": "crispEdges" }), paths = new Map();
  rows.forEach((row, y) => {
    const paints = row.map((value) => colour(share(value)));
    for (let from = 0, to; from < row.length; from = to) {
      for (to = from + 1; to < row.length && paints[to] === paints[from]; ) to++;
      paths.set(paints[from], `${paths.get(paints[from]) ?? ""}M${from} ${y}H${to}V${y + 1}H${from}Z`);
    }
  });
  for (const [fill, d] of paths) group.append(svg("path", { d, fill }));
  return group;
}

/** The frame of one view: controls above, drawing below, a spoken sentence last. `draw` is set by the widget. */
export class View {
  constructor(model, root, name) {
    this.model = model;
    this.root = root;
    this.id = `course-${name}-${++count}`;
    this.labels = []; // [node, key]: rewritten when the language changes
    this.timer = 0;
    this.boxes = 0; // that scroll, in the drawing under way
    root.classList.add("course-explorable");
    this.controls = this.into = html("div", { class: "controls" });
    this.stage = html("div", { class: "stage" });
    this.live = html("p", { class: "live", "aria-live": "polite" });
    root.replaceChildren(this.controls, this.stage, this.live);
  }

  get(name) { return this.model.get(name); }

  /** Write state; the kernel hears of it once the hand rests. */
  set(changes) {
    let changed = false;
    for (const [name, value] of Object.entries(changes)) {
      if (JSON.stringify(this.get(name)) === JSON.stringify(value)) continue;
      this.model.set(name, value);
      changed = true;
    }
    if (!changed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.model.save_changes(), 100);
  }

  /** A phrase of the catalogue, {name} filled in. */
  say(key, values = {}) {
    const words = this.get("words");
    const phrase = (words[this.get("lang")] || words.en)[key] ?? key;
    return phrase.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
  }

  label(node, key) {
    this.labels.push([node, key]);
    return node;
  }

  control(key, node, on, read) {
    const id = `${this.id}-${key}`;
    const box = html("span", { class: "control" });
    box.append(this.label(html("label", { for: id }), key), own(fill(node, { id })));
    node.addEventListener(on, () => read(node));
    this.into.append(box);
    return node;
  }

  /** The controls made by `make` stand together, under one another, in so many columns. */
  group(columns, make) {
    const box = html("div", { class: "group" });
    box.style.gridTemplateColumns = `repeat(${columns}, auto)`;
    this.controls.append(box);
    this.into = box;
    make();
    this.into = this.controls;
  }

  /** A slider over a list of values: {show(value)} puts it there. */
  slider(key, values, read) {
    const node = html("input", { type: "range", min: 0, max: Math.max(0, values.length - 1), step: 1 });
    const shown = html("output", { for: `${this.id}-${key}` });
    this.control(key, node, "input", () => read(values[+node.value]));
    node.after(shown);
    return { node, show(value, text = String(value)) {
      node.value = Math.max(0, values.indexOf(value));
      node.setAttribute("aria-valuetext", text);
      shown.textContent = text;
    } };
  }

  select(key, options, read) {
    const node = html("select");
    for (const option of options) node.append(this.label(html("option", { value: option }), option));
    return this.control(key, node, "change", () => read(node.value));
  }

  checkbox(key, read) {
    return this.control(key, html("input", { type: "checkbox" }), "change", (node) => read(node.checked));
  }

  button(key, press) {
    const node = own(html("button", { type: "button" }));
    this.label(node, key).addEventListener("click", () => node.getAttribute("aria-disabled") !== "true" && press());
    this.controls.append(node);
    return node;
  }

  /** A button that has nothing to do keeps the focus: a disabled one drops it, and the next key edits the notebook. */
  enable(button, useful) { button.setAttribute("aria-disabled", !useful); }

  reset() {
    return this.button("reset", () => this.set(this.get("start")));
  }

  /** New drawing, the focus where it was: a node is known by its data-key. */
  show(...nodes) {
    const held = this.stage.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    const places = [...this.stage.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    this.stage.replaceChildren(...nodes);
    this.stage.querySelectorAll(".scroll").forEach((box, at) => { box.scrollLeft = places[at] || 0; });
    this.boxes = 0;
    if (held) (this.stage.querySelector(`[data-key="${held}"]`) || this.stage.querySelector("[data-key]"))?.focus({ preventScroll: true });
  }

  /** A part that may be wider than the page: it scrolls by itself, by keys too. */
  scroll(label, node) {
    const box = own(html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label, "data-key": `scroll-${this.boxes++}` }));
    box.append(node);
    return box;
  }

  /** Draw now and at each change of `names`, of the language and of the theme. Returns the clean-up. */
  run(names, draw) {
    const again = () => {
      for (const [node, key] of this.labels) node.textContent = this.say(key);
      this.root.lang = this.get("lang");
      paint();
      draw();
    };
    // Text that is light stands on a dark page: true in Lab, VS Code and a bare page alike. Lab renders before the
    // root is part of the page, and a node outside has no colour; so it is asked again when it gets a size.
    const paint = () => {
      const seen = getComputedStyle(this.root.isConnected ? this.root : document.body).color.match(/[\d.]+/g);
      const [r, g, b] = (seen || [0, 0, 0]).map(Number);
      this.root.dataset.dark = r * 0.3 + g * 0.6 + b * 0.1 > 128;
    };
    const sized = new ResizeObserver(paint);
    sized.observe(this.root);
    const watched = ["lang", ...names].map((name) => `change:${name}`);
    for (const event of watched) this.model.on(event, again);
    const theme = new MutationObserver(again);
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "class"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", again);
    again();
    this.root.dataset.ready = "1";
    return () => {
      clearTimeout(this.timer);
      for (const event of watched) this.model.off(event, again);
      theme.disconnect();
      sized.disconnect();
      system.removeEventListener("change", again);
    };
  }
}
