"""What one forward pass costs, counted exactly: multiplications and bytes; no widget in here.

N tokens, D model width, H heads, Dk = D / H, d_ff = 4·D, L layers, B texts at once. G heads have keys and values of
their own, together K = G · Dk wide: all H, or fewer that several queries share (one: Shazeer 2019; groups: Ainslie et
al. 2023). Whole numbers throughout, so that the page, which has the same, agrees to the last digit.
"""

from typing import NamedTuple

from .base import fixed

KINDS = ("full", "tiled", "window", "linear")
SHARED = ("all", "quarter", "one")
CHOICES = {
    "length": [2**power for power in range(4, 21)],
    "width": [2**power for power in range(6, 14)],
    "heads": [2**power for power in range(7)],
    "layers": [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96],
    "texts": [2**power for power in range(9)],
    "size": [2, 4],
    "window": [2**power for power in range(4, 17)],
}
TILE = 128  # queries and keys of a tile, as `tiled_attention` has it
MULTIPLIED, KEPT = ("projections", "feed_forward", "attention", "gru"), ("weights", "scores", "cache")
DOUBLED = ("length", "width", "heads")
PLACES = ((16 * 10**9, "laptop"), (80 * 10**9, "accelerator"))  # plain sizes to compare with, in bytes
UNITS = ("B", "KB", "MB", "GB", "TB", "PB", "EB")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Setting(NamedTuple):
    """What the counts depend on. size: bytes of a number. shared: how many heads have keys of their own, of SHARED."""

    length: int
    width: int
    heads: int
    layers: int
    texts: int
    size: int
    kind: str
    window: int
    shared: str


def key_width(s):
    """K: how wide a token's keys are in all heads together."""
    groups = {"all": s.heads, "quarter": max(1, s.heads // 4), "one": 1}[s.shared]
    return groups * s.width // s.heads


def seen_keys(s):
    """Of how many keys each query is compared with: all, or those in the window."""
    return min(s.window, s.length) if s.kind == "window" else s.length


def multiplications(s):
    """{part: those of one layer for one text}, of matrix products; softmax, norms and activations are not counted.

    projections: of queries and output N·D·D each, of keys and values N·D·K each; 4·N·D² where all heads have keys.
    feed_forward: 8·N·D². gru: one as wide, for comparison, 6·N·D² (three gates, from input and from state).
    attention: scores and mixtures, N²·D each. The full square is counted, as a textbook computes it: half of it where a
    causal mask hides the other half and the kernel skips it. Tiles change nothing. A window: 2·N·w·D, what it needs
    (`window_attention` compares in chunks, up to twice as much). Linear attention (Katharopoulos et al. 2020): each of
    the G heads adds φ(k) [v, 1]^T to a state of Dk·(Dk + 1) numbers, and φ(q) reads it in each of the H heads:
    N·(D + K)·(Dk + 1).
    """
    N, D, K = s.length, s.width, key_width(s)
    linear = N * (D + K) * (D // s.heads + 1)
    return {
        "projections": 2 * N * D * (D + K),
        "feed_forward": 8 * N * D * D,
        "attention": linear if s.kind == "linear" else 2 * N * seen_keys(s) * D,
        "gru": 6 * N * D * D,
    }


def layer(s):
    """Multiplications of one layer for one text, and the attention's part of them."""
    parts = multiplications(s)
    return parts["projections"] + parts["feed_forward"] + parts["attention"], parts["attention"]


def memory(s):
    """{what: bytes}.

    weights: of all layers, biases and norms included, as `blocks.EncoderBlock` has them; no embedding.
    scores: what one layer's attention holds at once, for all texts: B·H·N² numbers, those of a window, of one tile, or
    none. Training keeps them in every layer. cache: keys and values of all layers and texts, 2·N·K·L·B numbers, of a
    window the last w tokens; linear attention keeps the states of Dk·(Dk + 1) numbers instead, at any length.
    """
    N, D, H, K = s.length, s.width, s.heads, key_width(s)
    weights = 10 * D * D + 11 * D + 2 * K * (D + 1)
    scores = {"full": N * N, "tiled": min(N, TILE) ** 2, "window": N * seen_keys(s), "linear": 0}[s.kind]
    cache = K * (D // H + 1) if s.kind == "linear" else 2 * seen_keys(s) * K
    return {
        "weights": weights * s.layers * s.size,
        "scores": scores * s.texts * H * s.size,
        "cache": cache * s.layers * s.texts * s.size,
    }


def crossing(s):
    """From how many tokens on attention multiplies as often as the rest of its layer, 5·D + K; None if it never does.

    2·N²·D = 2·N·D·(D + K) + 8·N·D², so 6·D where all heads have keys.
    """
    at = 5 * s.width + key_width(s)
    return at if s.kind in ("full", "tiled") or (s.kind == "window" and s.window >= at) else None


def growth(s):
    """{what: [by which factor it grows if N, D or H is doubled]}; None where there is nothing, or H would pass D."""
    found = {name: [] for name in (*MULTIPLIED, "layer", *KEPT)}
    now = _all(s)
    for name in DOUBLED:
        twice = s._replace(**{name: 2 * getattr(s, name)})
        then = _all(twice) if twice.heads <= twice.width else {}
        for what, value in now.items():
            found[what].append(then[what] / value if value and then else None)
    return found


def _all(s):
    return multiplications(s) | memory(s) | {"layer": layer(s)[0]}


def formulas(s):
    """{what: how it is counted}, with b bytes a number; what does not matter in this setting is left out."""
    K, w = "D" if s.shared == "all" else "K", "w" if s.kind == "window" and s.window < s.length else "N"
    square = "N²" if w == "N" else "N·w"
    found = {
        "projections": "4·N·D²" if s.shared == "all" else "2·N·D·(D+K)",
        "feed_forward": "8·N·D²",
        "attention": f"2·{square}·D",
        "gru": "6·N·D²",
        "weights": "L·(12D²+13D)·b" if s.shared == "all" else "L·(10D²+2DK+11D+2K)·b",
        "scores": f"B·H·{square}·b",
        "cache": f"2·{w}·{K}·L·B·b",
    }
    if s.kind == "tiled":
        found["scores"] = f"B·H·{TILE}²·b" if s.length > TILE else "B·H·N²·b"
    if s.kind == "linear":
        sizes = "2·N·D" if s.shared == "all" else "N·(D+K)"
        found |= {"attention": f"{sizes}·(D/H+1)", "scores": "0", "cache": f"{K}·(D/H+1)·L·B·b"}
    return found


def grouped(number):
    """A whole number with a comma at every third digit."""
    return f"{number:,}"


def large(number):
    """A whole number with two digits and its power of ten, halves up; below 100,000 as it is."""
    digits = str(number)
    if len(digits) <= 5:
        return grouped(number)
    lead, power = (int(digits[:3]) + 5) // 10, len(digits) - 1
    lead, power = (10, power + 1) if lead == 100 else (lead, power)
    return f"{lead // 10}.{lead % 10}·10{str(power).translate(RAISED)}"


def bytes_in_words(number):
    """Bytes in the unit that fits, each 1,000 times the one before; two digits or more, halves up."""
    unit = 0
    while unit + 1 < len(UNITS) and number * 2 >= 1999 * 1000**unit:
        unit += 1
    if unit == 0:
        return f"{number} B"
    tenths = (number * 20 + 1000**unit) // (2 * 1000**unit)
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10} {UNITS[unit]}"
    return f"{(number * 2 + 1000**unit) // (2 * 1000**unit)} {UNITS[unit]}"


def percent(part, whole):
    """A share, halves up; never 0% of what is there, nor 100% of what is not all."""
    if part * 100 < whole:
        return "<1%"
    return ">99%" if part * 100 > whole * 99 else f"{(part * 200 + whole) // (whole * 2)}%"


def times(factor):
    """A factor with at most two digits behind the point; "–" for None."""
    return "–" if factor is None else f"×{float(fixed(factor)):g}"
