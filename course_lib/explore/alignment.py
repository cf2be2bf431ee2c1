"""Alignment: which source tokens each target token looked at, as lines or as a matrix, one decoding step at a time."""

import numpy as np
import traitlets

from course_lib import figures

from .base import MARK, Explorable, best, fixed, module, numbers, rounded, token_list
from .tokens import plain, seen


class Alignment(Explorable):
    """Weights (T, S), rows = target tokens, columns = source tokens. `step` rows are decoded; `row` is looked at."""

    NAME = "alignment"
    STATE = ("view", "row", "step", "mask")
    _esm = module(NAME)

    view = traitlets.Enum(("lines", "matrix"), default_value="lines").tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    mask = traitlets.Bool(True).tag(sync=True)
    weights = traitlets.List().tag(sync=True)
    source_tokens = traitlets.List().tag(sync=True)
    target_tokens = traitlets.List().tag(sync=True)
    source_length = traitlets.Int().tag(sync=True)

    @traitlets.validate("row", "step")
    def _in_range(self, proposal):
        count = len(self.target_tokens)
        low, high = (0, count - 1) if proposal.trait.name == "row" else (1, count)
        if count and not low <= proposal.value <= high:
            raise traitlets.TraitError(f"{proposal.trait.name} goes from {low} to {high}, got {proposal.value}")
        return proposal.value

    def shown(self):
        """The weights as drawn (T, S): the twin of the page. With `mask`, padding gets 0 and the rest sums to 1 again.

        A row that has nothing outside the padding is all zeros.
        """
        weights = np.array(self.weights)
        if self.mask:
            weights[:, self.source_length :] = 0
            totals = weights.sum(axis=1, keepdims=True)
            weights = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
        return weights

    def sentence(self):
        row = self.shown()[self.row]
        most = best(row)
        values = {"step": self.row + 1, "all": len(self.target_tokens), "token": seen(self.target_tokens[self.row])}
        if not row.any():
            return self.say("nothing", **values)
        shares = {"share": fixed(row[most]), "total": fixed(row.sum())}
        return self.say("sentence", **values, most=seen(self.source_tokens[most]), at=most + 1, **shares)

    def draw(self):
        weights = self.shown()
        weights[self.step :] = np.nan
        rows, columns = weights.shape
        figure, (axes,) = figures.panels(width=min(7.0, 1.6 + 0.32 * columns), height=min(6.0, 1.2 + 0.28 * rows))
        axes.imshow(weights, vmin=0, vmax=1, aspect="auto")
        axes.grid(False)
        names = [plain(token) for token in self.source_tokens]
        axes.set_xticks(range(columns), names, rotation=90 if max(map(len, names)) > 2 else 0, fontsize=8)
        axes.set_yticks(range(rows), [plain(token) for token in self.target_tokens], fontsize=8)
        axes.axhline(self.row - 0.5, color=MARK)
        axes.axhline(self.row + 0.5, color=MARK)
        if self.source_length < columns:
            axes.axvline(self.source_length - 0.5, color=MARK, linestyle="--")
        axes.set(xlabel=self.say("source"), ylabel=self.say("target"))
        return figure


def alignment(weights, source_tokens, target_tokens, source_length=None, view="lines", lang="en"):
    """Explore attention weights. weights: (T, S), array or tensor; rows are target tokens.

    source_length: how many source tokens are real; the columns after it are padding (None: all are real).
    """
    weights = numbers(weights, "weights", None, None)
    rows, columns = weights.shape
    if not rows or not columns:
        raise ValueError(f"weights has shape {weights.shape}: there is nothing to draw")
    if (weights < 0).any():
        raise ValueError("weights holds negative numbers; are they scores before the softmax?")
    source_tokens = token_list(source_tokens, "source_tokens", columns)
    target_tokens = token_list(target_tokens, "target_tokens", rows)
    length = columns if source_length is None else int(source_length)
    if not 0 <= length <= columns:
        raise ValueError(f"source_length is {length}, but the source has {columns} tokens")
    return Alignment(
        weights=rounded(weights),
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        source_length=length,
        step=rows,
        view=view,
        lang=lang,
    )
