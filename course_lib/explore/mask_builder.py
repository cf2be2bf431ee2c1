"""The mask builder of lesson 5: who may look at whom, and what the learner's own attention makes of it.

The page builds the mask; the kernel runs the learner's function on it (`mask_answers`).
"""

import textwrap

import numpy as np
import traitlets
from matplotlib.patches import Rectangle

from course_lib import figures

from .base import MARK, Explorable, fixed, module, name_of, token_list
from .mask_answers import CHANGED, answer, build_mask, draw_vectors, findings, own_attention
from .tokens import plain, seen

MOST_TOKENS = 16
NUMBERS = 8  # beyond so many tokens a cell of the picture has no room for its number


class MaskBuilder(Explorable):
    """`causal`, `padding` (tokens at the end), `opened` and `closed` ([[query, key], ...] by hand) make the mask.

    `changed` is the token that is replaced, None for none. `answer` is what the function gave, and for which state.
    """

    NAME = "mask_builder"
    STATE = ("causal", "padding", "opened", "closed", "changed")
    _esm = module(NAME)

    causal = traitlets.Bool(False).tag(sync=True)
    padding = traitlets.Int(0).tag(sync=True)
    opened = traitlets.List().tag(sync=True)
    closed = traitlets.List().tag(sync=True)
    changed = traitlets.Int(None, allow_none=True).tag(sync=True)
    tokens = traitlets.List().tag(sync=True)
    function = traitlets.Unicode("").tag(sync=True)  # name of the learner's, "" for the course's own
    vectors = traitlets.Dict().tag(sync=True)
    others = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, attend, **state):
        self._attend = attend
        super().__init__(**state)
        self.observe(self._refresh, self.STATE)
        self._refresh()

    @traitlets.validate("padding", "changed")
    def _in_range(self, proposal):
        name, value, count = proposal.trait.name, proposal.value, len(self.tokens)
        high = count if name == "padding" else count - 1
        if count and value is not None and not 0 <= value <= high:
            extra = " or None" if name == "changed" else ""
            raise traitlets.TraitError(f"{name}: expected 0 to {high}{extra}, got {value}")
        return value

    @traitlets.validate("opened", "closed")
    def _pairs(self, proposal):
        inside = range(len(self.tokens))
        for pair in proposal.value:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2 or any(place not in inside for place in pair):
                last = len(inside) - 1
                raise traitlets.TraitError(f"{proposal.trait.name}: expected [query, key], 0 to {last}, got {pair!r}")
        return [list(pair) for pair in sorted({(int(row), int(column)) for row, column in proposal.value})]

    def allowed(self):
        """The mask (T, T) bool, True = may attend: the twin of the page."""
        return build_mask(len(self.tokens), self.causal, self.padding, self.opened, self.closed)

    def weights(self):
        """What the function gave (T, T), NaN where it gave NaN; empty if it raised."""
        return np.array(self.answer["weights"], dtype=float)

    def leaks(self):
        """Queries whose output changes with a token that they may not look at."""
        return [] if self.answer["problem"] else findings(self.allowed(), self.answer, self.changed).get("leaks", [])

    def _refresh(self, _=None):
        mask = self.allowed()
        rows = "/".join("".join("01"[int(cell)] for cell in row) for row in mask)
        state = f"{rows}:{'' if self.changed is None else self.changed}"
        if self.answer.get("for") != state:
            shown = answer(self._attend or own_attention, self.vectors, self.others, mask, self.changed)
            self.answer = {"for": state, **shown}

    def page_state(self):
        return {**super().page_state(), "alone": True}  # a page of its own has no kernel to wait for

    def sentence(self):
        mask = self.allowed()
        parts = [self.say("open", open=int(mask.sum()), all=mask.size)]
        if self.answer["problem"]:
            return " ".join([*parts, self.say("problem", name=self.function, problem=self.answer["problem"])])
        parts.append(self.say("by_yours" if self.function else "by_course", name=self.function))
        found = findings(mask, self.answer, self.changed)
        for key, rows in (("empty", found["empty"]), ("broken", self.answer["broken"]), ("sums", found["sums"])):
            if rows:
                parts.append(self.say(key, rows=_listed(rows)))
        if found["peeks"]:
            parts.append(self.say("peeks", count=len(found["peeks"]), most=_amount(max(map(abs, found["peeks"])))))
        if self.changed is not None:
            token, moved = seen(self.tokens[self.changed]), found["moved"]
            parts.append(self.say("moved" if moved else "still", at=self.changed, token=token, rows=_listed(moved)))
            leak = {"rows": _listed(found["leaks"]), "most": _amount(found["most"])}
            parts.append(self.say("leak" if found["leaks"] else "tight", **leak))
            if found["blind"]:
                parts.append(self.say("blind", rows=_listed(found["blind"])))
        return " ".join(parts)

    def draw(self):
        count = len(self.tokens)
        wide, high = min(4.6, 2.6 + 0.16 * count), min(4.2, 1.9 + 0.2 * count)
        figure, (grid, bars) = figures.panels(2, width=wide, height=high)
        names = [f"{at} {plain(token, 10)}" for at, token in enumerate(self.tokens)]
        for axes in (grid, bars):
            axes.set_yticks(range(count), names, fontsize=8)
        grid.set_xticks(range(count), names, rotation=90, fontsize=8)
        grid.set(xlabel=self.say("key"), ylabel=self.say("query"))
        grid.set_title(self.say("weights" if count <= NUMBERS else "weights_dense"), fontsize=9)
        bars.set_title(self.say("change"), fontsize=9)
        if self.answer["problem"]:
            told = "\n".join(textwrap.wrap(self.answer["problem"].replace("$", r"\$"), 45)[:4])
            bars.text(0.02, (count - 1) / 2, told, va="center", fontsize=8, in_layout=False)
        _draw_grid(grid, self.allowed(), self.weights())
        _draw_change(bars, np.array(self.answer["change"], dtype=float), self.leaks(), self.say("leaks"))
        bars.set(ylim=(count - 0.5, -0.5))
        return figure


def _draw_grid(axes, mask, weights):
    """Weights as colours and numbers; −∞ where the mask hides, framed where there is a weight all the same."""
    if not weights.size:
        weights = np.full(mask.shape, np.nan)
        said = {False: "−∞", True: "?"}
    else:
        said = {False: "NaN", True: "NaN"}
    peeks = ~mask & (np.abs(weights) > CHANGED)
    axes.imshow(np.where(mask | peeks, weights, np.nan), vmin=0, vmax=1)
    axes.grid(False)
    for row, column in np.ndindex(mask.shape):
        weight = weights[row, column]
        if peeks[row, column]:
            frame = Rectangle((column - 0.42, row - 0.42), 0.84, 0.84, fill=False, edgecolor=MARK, linewidth=2)
            axes.add_patch(frame)
        filled = mask[row, column] or peeks[row, column]
        text = said[bool(mask[row, column])] if np.isnan(weight) else f"{weight:.2f}" if filled else "−∞"
        if len(mask) <= NUMBERS or (filled and np.isnan(weight)):
            ink = "white" if filled and weight < 0.5 else "black"
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)


def _draw_change(axes, change, leaks, leak):
    """How far each output moves, as bars with their numbers."""
    for row, size in enumerate(change):
        known, wrong = np.isfinite(size), row in leaks
        axes.barh(row, size if known else 0, color=MARK if wrong else figures.LINES[0], hatch="//" if wrong else None)
        text = (_amount(size) if size > CHANGED else "0") if known else "NaN"
        axes.text(size if known else 0, row, f" {text} {leak if wrong else ''}", va="center", fontsize=8)
    axes.set_xlim(0, 1.6 * max([1.0, *change[np.isfinite(change)]]))


def _listed(rows):
    return ", ".join(map(str, rows))


def _amount(value):
    return "<0.01" if value < 0.005 else ">999" if value > 999 else fixed(value)


def mask_builder(attend, tokens, causal=False, padding=0, changed=None, lang="en"):
    """Build a self-attention mask and see what `attend` makes of it.

    attend: (query (T, 8), key, value, mask (T, T) bool, True = may attend) -> (output (T, 8), weights (T, T)); None
    takes the course's own. tokens: 1 to 16. padding: how many at the end are padding. changed: the token that gets
    other vectors, None for none.
    """
    if attend is not None and not callable(attend):
        raise TypeError(
            f"attend: expected a function (query, key, value, mask) -> (output, weights), got a {type(attend).__name__}"
        )
    tokens = list(tokens)
    if not 1 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(f"tokens: expected 1 to {MOST_TOKENS}, got {len(tokens)}. Cut the sentence.")
    vectors, others = draw_vectors(len(tokens))
    return MaskBuilder(
        attend, tokens=token_list(tokens, "tokens", len(tokens)), causal=causal, padding=padding, changed=changed,
        function=name_of(attend, "attend") if attend else "",
        vectors=vectors, others=others, lang=lang,
    )  # fmt: skip
