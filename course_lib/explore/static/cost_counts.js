// What one forward pass costs, counted exactly in BigInt: the twin of `cost_counts.py`, which says what is counted.
import { fixed } from "./shared.js";

export const MULTIPLIED = ["projections", "feed_forward", "attention", "gru"], KEPT = ["weights", "scores", "cache"];
export const DOUBLED = ["length", "width", "heads"], PLACES = [[16n * 10n ** 9n, "laptop"], [80n * 10n ** 9n, "accelerator"]];
const UNITS = ["B", "KB", "MB", "GB", "TB", "PB", "EB"], TILE = 128;

/** K: how wide a token's keys are in all heads together. */
export const keyWidth = (s) => ({ all: s.heads, quarter: Math.max(1, Math.floor(s.heads / 4)), one: 1 }[s.shared] * s.width) / s.heads;
export const seenKeys = (s) => (s.kind === "window" ? Math.min(s.window, s.length) : s.length);

/** {part: multiplications of one layer for one text}. */
export function multiplications(s) {
  const [N, D, K, seen] = [s.length, s.width, keyWidth(s), seenKeys(s)].map(BigInt);
  const linear = () => N * (D + K) * BigInt(s.width / s.heads + 1);
  return { projections: 2n * N * D * (D + K), feed_forward: 8n * N * D * D, attention: s.kind === "linear" ? linear() : 2n * N * seen * D, gru: 6n * N * D * D };
}

/** [multiplications of one layer, the attention's part of them]. */
export function layerOf(s) {
  const { projections, feed_forward, attention } = multiplications(s);
  return [projections + feed_forward + attention, attention];
}

/** {what: bytes}. */
export function memory(s) {
  const [N, D, H, K, seen, L, B, size] = [s.length, s.width, s.heads, keyWidth(s), seenKeys(s), s.layers, s.texts, s.size].map(BigInt);
  const tile = BigInt(Math.min(s.length, TILE)), scores = { full: N * N, tiled: tile * tile, window: N * seen, linear: 0n }[s.kind];
  const cache = s.kind === "linear" ? K * BigInt(s.width / s.heads + 1) : 2n * seen * K;
  return { weights: (10n * D * D + 11n * D + 2n * K * (D + 1n)) * L * size, scores: scores * B * H * size, cache: cache * L * B * size };
}

/** From how many tokens on attention multiplies as often as the rest of its layer; null if it never does. */
export function crossing(s) {
  const at = 5 * s.width + keyWidth(s);
  return s.kind === "full" || s.kind === "tiled" || (s.kind === "window" && s.window >= at) ? at : null;
}

/** {what: [by which factor it grows if N, D or H is doubled, or null]}. */
export function growth(s) {
  const all = (one) => ({ ...multiplications(one), layer: layerOf(one)[0], ...memory(one) }), now = all(s);
  const then = DOUBLED.map((name) => ({ ...s, [name]: 2 * s[name] })).map((twice) => (twice.heads <= twice.width ? all(twice) : null));
  return Object.fromEntries(Object.entries(now).map(([what, value]) => [what, then.map((twice) => (twice && value ? Number(twice[what]) / Number(value) : null))]));
}

/** {what: how it is counted}. */
export function formulas(s) {
  const all = s.shared === "all", K = all ? "D" : "K", w = s.kind === "window" && s.window < s.length ? "w" : "N", square = w === "N" ? "N²" : "N·w";
  const found = {
    projections: all ? "4·N·D²" : "2·N·D·(D+K)", feed_forward: "8·N·D²", attention: `2·${square}·D`, gru: "6·N·D²",
    weights: all ? "L·(12D²+13D)·b" : "L·(10D²+2DK+11D+2K)·b", scores: `B·H·${square}·b`, cache: `2·${w}·${K}·L·B·b`,
  };
  if (s.kind === "tiled") found.scores = s.length > TILE ? `B·H·${TILE}²·b` : "B·H·N²·b";
  if (s.kind === "linear") Object.assign(found, { attention: `${all ? "2·N·D" : "N·(D+K)"}·(D/H+1)`, scores: "0", cache: `${K}·(D/H+1)·L·B·b` });
  return found;
}

/** A whole number with a comma at every third digit. */
export const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

/** With two digits and its power of ten, halves up; below 100,000 as it is. */
export function large(number) {
  const digits = String(number);
  if (digits.length <= 5) return grouped(number);
  let lead = Math.floor((+digits.slice(0, 3) + 5) / 10), power = digits.length - 1;
  if (lead === 100) [lead, power] = [10, power + 1];
  return `${Math.floor(lead / 10)}.${lead % 10}·10${raised(power)}`;
}
export const raised = (power) => [...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");

/** Bytes (BigInt) in the unit that fits, each 1,000 times the one before. */
export function bytesInWords(number) {
  let unit = 0;
  while (unit + 1 < UNITS.length && number * 2n >= 1999n * 1000n ** BigInt(unit)) unit += 1;
  if (unit === 0) return `${number} B`;
  const step = 1000n ** BigInt(unit), tenths = (number * 20n + step) / (2n * step);
  return `${tenths < 100n ? `${tenths / 10n}.${tenths % 10n}` : (number * 2n + step) / (2n * step)} ${UNITS[unit]}`;
}

/** A share of BigInts; never 0% of what is there, nor 100% of what is not all. */
export function percent(part, whole) {
  if (part * 100n < whole) return "<1%";
  return part * 100n > whole * 99n ? ">99%" : `${(part * 200n + whole) / (whole * 2n)}%`;
}

/** A number with at most two digits behind the point. */
export const plain = (value) => String(+fixed(value));
/** A factor; "–" for null. */
export const times = (factor) => (factor === null ? "–" : `×${plain(factor)}`);
