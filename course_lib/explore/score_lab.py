"""The score lab of lesson 3: one query among keys in the plane, under two score functions side by side."""

import numpy as np
import traitlets

from course_lib import figures

from .base import Explorable, best, fixed, module, numbers, rounded, softmax

SCORES = ("dot", "general", "additive", "scaled")
REACH = 3.0  # the plane goes from -REACH to REACH
MOST_KEYS = 12


class ScoreLab(Explorable):
    """`query` is moved by hand; `left` and `right` name the two score functions."""

    NAME = "score_lab"
    STATE = ("query", "left", "right", "W")
    _esm = module(NAME)

    query = traitlets.List(traitlets.Float(), [1.0, 0.5], minlen=2, maxlen=2).tag(sync=True)
    left = traitlets.Enum(SCORES, default_value="dot").tag(sync=True)
    right = traitlets.Enum(SCORES, default_value="additive").tag(sync=True)
    W = traitlets.List().tag(sync=True)
    points = traitlets.List().tag(sync=True)  # the keys; an ipywidget's own trait has that name
    values = traitlets.List().tag(sync=True)

    def scores(self, kind):
        """The query's score with each key (S,). Additive: sum of tanh(W q + k), Bahdanau's form with v = (1, 1)."""
        query, keys, W = np.array(self.query), np.array(self.points), np.array(self.W)
        if kind == "additive":
            return np.tanh(W @ query + keys).sum(axis=1)
        if kind == "general":
            return keys @ (query @ W)
        return keys @ query / (np.sqrt(2) if kind == "scaled" else 1)

    def weights(self, kind):
        """Softmax of the scores (S,)."""
        return softmax(self.scores(kind))

    def context(self, kind):
        """The weighted mean of the values (2,)."""
        return self.weights(kind) @ np.array(self.values)

    def sentence(self):
        found = dict(zip("xy", map(fixed, self.query), strict=True))
        for side, kind in (("left", self.left), ("right", self.right)):
            weights, context = self.weights(kind), self.context(kind)
            most = best(weights)
            found |= {side: self.say(kind), f"{side}_key": most + 1, f"{side}_weight": fixed(weights[most])}
            found[f"{side}_context"] = f"({fixed(context[0])}, {fixed(context[1])})"
        return self.say("sentence", **found)

    def draw(self):
        figure, panels = figures.panels(2, width=3.4, height=3.2)
        keys = np.array(self.points)
        for axes, kind, marker in zip(panels, (self.left, self.right), "sD", strict=True):
            weights, context = self.weights(kind), self.context(kind)
            axes.scatter(*keys.T, s=30 + 500 * weights, c=weights, vmin=0, vmax=1, edgecolor="black")
            for at, (place, weight) in enumerate(zip(keys, weights, strict=True), 1):
                name = f"k{at} {weight:.2f}"
                axes.annotate(name, place, (0, 12), textcoords="offset points", ha="center", fontsize=8)
            axes.annotate("", self.query, (0, 0), arrowprops={"arrowstyle": "->", "color": "#0072B2", "linewidth": 2})
            axes.plot(*context, marker, color="#D55E00", label=self.say("context"))
            axes.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), aspect="equal")
            axes.set_title(self.say(kind), fontsize=10)
            axes.legend(fontsize=8, loc="lower left")
        return figure


def score_lab(keys, values=None, W=None, query=(1.0, 0.5), left="dot", right="additive", lang="en"):
    """Explore score functions. keys: (S, 2), at most 12, within -3 and 3. values: (S, 2); None takes the keys.

    W: (2, 2) for general and additive; None is the identity. left, right: "dot", "general", "additive" or "scaled".
    """
    keys = numbers(keys, "keys", None, 2)
    values = keys if values is None else numbers(values, "values", None, 2)
    if len(keys) != len(values):
        raise ValueError(f"keys holds {len(keys)} rows and values {len(values)}; each key needs its value")
    if not 1 <= len(keys) <= MOST_KEYS:
        raise ValueError(f"keys holds {len(keys)} rows; 1 to {MOST_KEYS} can be told apart in the plane")
    for name, array in (("keys", keys), ("values", values), ("query", numbers(query, "query", 2))):
        if np.abs(array).max() > REACH:
            raise ValueError(f"{name} reaches {np.abs(array).max():.2f}; the plane ends at {REACH:.0f}. Scale it down.")
    W = np.eye(2) if W is None else numbers(W, "W", 2, 2)
    return ScoreLab(
        points=rounded(keys), values=rounded(values), W=rounded(W), query=[float(part) for part in query],
        left=left, right=right, lang=lang,
    )  # fmt: skip
