// What the three families may see, and what writing costs them with a cache: the twin of `family_masks.py`.

export const FAMILIES = ["encoder-only", "encoder-decoder", "decoder-only"];

/** mask[query][key]. */
export const maskOf = (family, S, N) => square(N, (row, key) => family === "encoder-only" || key <= row || (family === "encoder-decoder" && row < S && key < S));
const square = (N, value) => Array.from({ length: N }, (_, row) => Array.from({ length: N }, (_, key) => value(row, key)));

/** [[name, rows, columns], ...]: what is drawn of the mask. */
export function gridsOf(family, S, N) {
  const all = [...Array(N).keys()], source = all.slice(0, S), target = all.slice(S);
  if (family === "encoder-decoder") return [["encoder", source, source], ["decoder", target, target], ["cross", target, source]];
  return [[family.replace("-only", ""), all, all]];
}

/** When the row of each place is computed. */
export function stagesOf(family, S, N, written, cache) {
  return Array.from({ length: N }, (_, at) => {
    if (family === "encoder-only") return "now";
    if (at > S + written) return "later";
    const byEncoder = family === "encoder-decoder" && at < S;
    return at === S + written || written === 0 || !(cache || byEncoder) ? "now" : "before";
  });
}

/** How many scores each pass so far computed, in one head of one layer. */
export function scoresOf(family, S, N, written, cache) {
  if (family === "encoder-only") return [N * N];
  const [given, others] = family === "encoder-decoder" ? [1, S] : [S + 1, 0];
  const passes = Array.from({ length: written + 1 }, (_, at) => (cache && at ? 1 : given + at) * (given + at + others));
  passes[0] += others * others;
  return passes;
}

/** Of how many tokens keys and values are kept: those that grow in number, those that do not. */
export function keptOf(family, S, written, cache) {
  if (family === "encoder-only" || !cache) return [0, 0];
  return family === "encoder-decoder" ? [1 + written, S] : [S + 1 + written, 0];
}
