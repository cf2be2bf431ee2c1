"""The X-ray of lesson 8: a sentence's vectors on their way through a stack of encoder blocks, parts switched off.

All 32 states are computed once (`block_stages`), so the page needs no kernel; this is its twin.
"""

import math
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import traitlets
from matplotlib.patches import Rectangle

from course_lib import figures

from .base import COLOURS, MARK, Explorable, fixed, module
from .block_stages import NAMES, ORDERS, Switches, blocks_of, key_of, mask_of, measure_all, vectors_of
from .tokens import plain, seen

PARTS = ("attention", "feed_forward", "shortcuts", "norms")
CURVES = ("mean_length", "mean_alike", "gradient")
GROWN, FADED, ALIKE = 3, 10, 0.95  # from what factors, and what mean cosine, on it is said in words
NUMBERS = 8  # beyond so many tokens a cell of the picture has no room for its number
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class BlockXray(Explorable):
    """`attention`, `feed_forward`, `shortcuts` and `norms` are on or off in all blocks; `order` is "post" or "pre".

    `block` is the one opened, counted from 1; `token` the one followed, from 0. `states` has what was measured.
    """

    NAME = "block_xray"
    STATE = (*PARTS, "order", "block", "token")
    _esm = module(NAME)

    attention = traitlets.Bool(True).tag(sync=True)
    feed_forward = traitlets.Bool(True).tag(sync=True)
    shortcuts = traitlets.Bool(True).tag(sync=True)
    norms = traitlets.Bool(True).tag(sync=True)
    order = traitlets.Enum(ORDERS, default_value="post").tag(sync=True)
    block = traitlets.Int(1).tag(sync=True)
    token = traitlets.Int(0).tag(sync=True)
    tokens = traitlets.List().tag(sync=True)
    d_model = traitlets.Int().tag(sync=True)
    d_ff = traitlets.List().tag(sync=True)  # of each block
    own_order = traitlets.Unicode("post").tag(sync=True)  # of the blocks as they are
    stages = traitlets.Dict().tag(sync=True)  # {order: names of the 8 stages}
    states = traitlets.Dict().tag(sync=True)  # {key: what `block_stages.measure` gives}

    @traitlets.validate("block", "token")
    def _in_range(self, proposal):
        name, value = proposal.trait.name, proposal.value
        first, last = (1, len(self.d_ff)) if name == "block" else (0, len(self.tokens) - 1)
        if self.tokens and not first <= value <= last:
            raise traitlets.TraitError(f"{name}: expected {first} to {last}, got {value}")
        return value

    def switches(self):
        """The present state as `block_stages` takes it."""
        return Switches(*(getattr(self, name) for name in PARTS), norm_first=self.order == "pre")

    def shown(self):
        """What was measured in this state: the twin of the page."""
        return self.states[key_of(self.switches())]

    def given(self):
        """The same of the blocks as they are: all parts on, in their own order."""
        return self.states[key_of(Switches(norm_first=self.own_order == "pre"))]

    def lengths(self):
        """(8, S): the length of each token's vector at each stage of the opened block; NaN where there is none."""
        rows = self.shown()["length"][self.block - 1]
        return np.array([[math.nan] * len(self.tokens) if row is None else row for row in rows])

    def heard(self):
        """How many tokens the followed one has heard of at each stage of the opened block; None where there is none."""
        rows = self.shown()["heard"][self.block - 1]
        return [None if row is None else row[self.token].bit_count() for row in rows]

    def scale(self):
        """Decadic logarithms of the lengths with the darkest and the lightest colour, at least a decade apart."""
        rows = [row for block in self.shown()["length"] for row in block if row is not None]
        logs = [math.log10(length) for row in rows for length in row if length > 0] or [0]
        middle, half = (min(logs) + max(logs)) / 2, max(0.5, (max(logs) - min(logs)) / 2)
        return middle - half, middle + half

    def sentence(self):
        shown, lengths = self.shown(), self.lengths()[:, self.token]
        mean, alike, gradient = (shown[name] for name in CURVES)
        off = ", ".join(self.say(name) for name in PARTS if not getattr(self, name))
        parts = [self.say("off", parts=off) if off else self.say("all_on")]
        if self.norms:
            parts.append(self.say(f"is_{self.order}"))
        if not (self.attention and self.feed_forward):
            parts.append(self.say("adds_nothing" if self.shortcuts else "hands_on"))
        values = {"block": self.block, "at": self.token, "token": seen(self.tokens[self.token])}
        values |= {"first": short(lengths[0]), "last": short(lengths[-1])}
        parts.append(self.say("walk", **values, heard=self.heard()[-1], count=len(self.tokens)))
        values = {"blocks": len(self.d_ff), "first": short(mean[0]), "last": short(mean[-1])}
        values |= {"apart": _cosine(alike[0]), "alike": _cosine(alike[-1]), "gradient": short(gradient[0])}
        parts.append(self.say("whole", **values))
        return " ".join([*parts, *(self.say(name) for name in self.findings())])

    def findings(self):
        """What is worth a sentence of its own, as keys of the catalogue."""
        mean, alike, gradient = (self.shown()[name] for name in CURVES)
        found = {
            "grows": mean[-1] >= GROWN * mean[0],
            "shrinks": mean[-1] * GROWN <= mean[0],
            "collapses": None not in (alike[0], alike[-1]) and alike[0] < ALIKE <= alike[-1],
            "fades": gradient[0] * FADED <= 1,
            "explodes": gradient[0] >= FADED,
            "alone": not self.attention,
        }
        return [name for name, true in found.items() if true]

    def draw(self):
        figure, (table, *charts) = figures.panels(4, width=2.75, height=2.7)
        _draw_table(table, self)
        for axes, name in zip(charts, CURVES, strict=True):
            _draw_curve(axes, self, name)
        return figure


def _draw_table(axes, shown):
    """One row a stage, one column a token: lengths as colours and numbers; of many tokens only the followed one's."""
    lengths, (low, high) = shown.lengths(), shown.scale()
    with np.errstate(divide="ignore"):
        shares = (np.log10(lengths) - low) / (high - low)
    axes.imshow(np.where(np.isfinite(shares), shares, np.nan), vmin=0, vmax=1, cmap=COLOURS, aspect="auto")
    axes.grid(False)
    roomy = len(shown.tokens) <= NUMBERS
    for stage, token in np.ndindex(lengths.shape):
        text, dark = short(lengths[stage, token]), np.isfinite(shares[stage, token]) and shares[stage, token] < 0.5
        if roomy:
            axes.text(token, stage, text, ha="center", va="center", fontsize=5.5, color="white" if dark else "black")
        elif token == shown.token:  # beside the table
            axes.text(len(shown.tokens) - 0.3, stage, text, va="center", fontsize=6)
    rows = [
        f"{shown.say(_word(name))} ({shown.say('is_off')})" if _is_off(shown, name) else shown.say(_word(name))
        for name in shown.stages[shown.order]
    ]
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_xticks(range(len(shown.tokens)), [plain(token, 7) for token in shown.tokens], rotation=90, fontsize=7)
    axes.tick_params(length=0)
    frame = Rectangle((shown.token - 0.48, -0.48), 0.96, len(rows) - 0.04, fill=False, edgecolor=MARK, lw=2)
    axes.add_patch(frame)
    axes.set_title(f"{shown.say('block')} {shown.block}: {shown.say('length')}", fontsize=9)


def _draw_curve(axes, shown, name):
    """One number over depth: now, and of the blocks as they are; the opened block shaded."""
    now, given = shown.shown()[name], shown.given()[name]
    logs, write = (False, _cosine) if name == "mean_alike" else (True, short)
    known = [value for value in (*now, *given) if value is not None and (value > 0 or not logs)]
    low, high = decades(known or [1]) if logs else (min(0, *known), 1)

    def heights(values):  # of what is 0, the bottom
        return [math.nan if v is None else max(low, math.log10(v) if v else low) if logs else v for v in values]

    axes.axvspan(shown.block - 1, shown.block, color="#DDDDDD", lw=0)
    axes.plot(heights(given), "--", color=MARK, lw=1.5)
    axes.plot(heights(now), "o-", color=figures.LINES[0], ms=4, clip_on=False)
    if logs:
        marks = range(low, high + 1, math.ceil((high - low) / 4))
        axes.set_yticks(marks, [_power(mark) for mark in marks])
    axes.set_ylim(low, high)
    axes.set_xticks(range(0, len(now), 2 if len(now) > 9 else 1))
    axes.tick_params(labelsize=7)
    axes.set_title(
        f"{shown.say(name)}: {write(now[0])} {'←' if name == 'gradient' else '→'} {write(now[-1])}", fontsize=9
    )
    axes.set_xlabel(shown.say("depth"), fontsize=8)


def decades(values):
    """Whole decadic logarithms around positive values, at least one apart: the ends of a chart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _power(exponent):
    return f"{10.0**exponent:g}" if -3 < exponent < 4 else f"10{str(exponent).translate(RAISED)}"


def short(value):
    """A length with two or three digits, as the page writes it; its power of ten where those would not do."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    exact = Decimal(value)  # halves away from zero, as in JavaScript
    if 0.001 <= value < 10_000:
        digits = 3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0
        return str(exact.quantize(Decimal(10) ** -digits, ROUND_HALF_UP))
    power = exact.adjusted()
    digits = exact.scaleb(-power).quantize(Decimal("0.1"), ROUND_HALF_UP)
    return f"{digits}e{power}" if digits < 10 else f"1.0e{power + 1}"


def _cosine(value):
    return "–" if value is None else fixed(value)


def _word(stage):
    return stage.rsplit("_", 1)[-1] if stage.endswith(("_sum", "_norm")) else stage


def _is_off(shown, stage):
    """Whether the switch that a stage stands for is off."""
    part = {"sum": "shortcuts", "norm": "norms", "hidden": "feed_forward"}.get(_word(stage), stage)
    return part != "input" and not getattr(shown, part)


def block_xray(
    blocks, x, tokens, *, mask=None, attention=True, feed_forward=True, shortcuts=True, norms=True, order=None,
    block=1, token=0, lang="en",
):  # fmt: skip
    """See what each part of a stack of encoder blocks does to a sentence's vectors, by switching parts off.

    blocks: 1 to 12 `blocks.EncoderBlock`, a list, an nn.ModuleList or an Encoder (whose last norm stands above the
    blocks, and is not shown). Copies are measured, for evaluation and in float64. x: what goes into the first one,
    (S, D) or (1, S, D). tokens: the S tokens, 2 to 16. mask: bool, True = may attend: (S, S), (1, 1, S) or (1, S, S).
    attention, feed_forward, shortcuts, norms: which parts are on. order: "post" or "pre", None for the blocks' own.
    block: which one is opened, from 1. token: which one is followed, from 0.
    """
    blocks = blocks_of(blocks)
    x = vectors_of(x, blocks[0].self_attention.d_model)
    tokens = [str(token) for token in tokens]
    if len(tokens) != x.shape[1]:
        raise ValueError(f"tokens: expected one for each of the {x.shape[1]} vectors of x, got {len(tokens)}")
    own = ORDERS[blocks[0].around_self_attention.norm_first]
    found = measure_all(blocks, x, mask_of(mask, len(tokens)))
    return BlockXray(
        attention=attention, feed_forward=feed_forward, shortcuts=shortcuts, norms=norms,
        order=own if order is None else order, block=block, token=token, tokens=tokens, d_model=x.shape[-1],
        d_ff=[one.feed_forward.W_1.out_features for one in blocks], own_order=own,
        stages={name: list(NAMES[name == "pre"]) for name in ORDERS},
        states={key_of(switches): shown for switches, shown in found.items()}, lang=lang,
    )  # fmt: skip
