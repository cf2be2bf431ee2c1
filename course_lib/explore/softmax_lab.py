"""The softmax lab of lesson 4: one query's scores under a temperature and a width, with and without the root."""

import math

import numpy as np
import traitlets
from matplotlib.ticker import NullFormatter, NullLocator

from course_lib import figures

from .base import Explorable, best, fixed, module, numbers, rounded, softmax, token_list
from .tokens import plain, seen

WIDTHS = [2**power for power in range(2, 11)]  # 4 to 1024
COLDEST, HOTTEST = 0.1, 10.0
MOST_TOKENS = 16  # as many bars as can be compared
MOST_SCORE = 20.0
SATURATED = 0.01  # a Jacobian of less than this norm lets next to no gradient through


def products(scores, d_k):
    """q · k of width d_k, of which `scores` are the standardised ones: a sum of d_k terms has variance d_k. (S,)"""
    return np.asarray(scores) * math.sqrt(d_k)


def logits(scores, d_k, root, temperature):
    """What the softmax gets (S,): q · k, divided by √d_k if `root`, and by the temperature."""
    return products(scores, d_k) / (math.sqrt(d_k) if root else 1) / temperature


def entropy(weights):
    """In bits: 0 where one key has it all, log2(S) where all have the same."""
    some = weights[weights > 0]
    return float(0 - (some * np.log2(some)).sum())


def jacobian(weights):
    """diag(p) - p p^T (S, S): how each weight (row) changes with each score (column) that the softmax gets."""
    changes = -np.outer(weights, weights)
    # p (1 - p), but 1 - p would round to 0 long before the sum of the other weights does.
    np.fill_diagonal(changes, weights * ((1 - np.eye(len(weights))) @ weights))
    return changes


def jacobian_norm(weights):
    """Frobenius norm of the Jacobian: 0.5 at most, 0 where the softmax is saturated."""
    return float(np.sqrt((jacobian(weights) ** 2).sum()))


def _top(name, count):
    """The largest value that a curve can have over `count` keys."""
    return 0.5 if name == "norm" else max(1.0, math.log2(count))


def _small(value):
    """Three digits, or its power of ten where those would be zeros; as the page writes it."""
    if value == 0 or value >= 0.001:
        return f"{value:.3f}"
    return f"{value:.0e}".replace("e-0", "e-")


def _plain(value):
    return f"{float(fixed(value)):g}" if value < 1000 else str(math.floor(value + 0.5))


class SoftmaxLab(Explorable):
    """`temperature`, `d_k` and `root` (divide by √d_k) are moved by hand; `scores` (S,) are q · k / √d_k."""

    NAME = "softmax_lab"
    STATE = ("temperature", "d_k", "root")
    _esm = module(NAME)

    temperature = traitlets.Float(1.0).tag(sync=True)
    d_k = traitlets.Int(64).tag(sync=True)
    root = traitlets.Bool(True).tag(sync=True)
    scores = traitlets.List().tag(sync=True)
    tokens = traitlets.List().tag(sync=True)

    @traitlets.validate("temperature")
    def _warm(self, proposal):
        if not COLDEST <= proposal.value <= HOTTEST:
            raise traitlets.TraitError(f"temperature: expected {COLDEST} to {HOTTEST:g}, got {proposal.value}")
        return proposal.value

    @traitlets.validate("d_k")
    def _power(self, proposal):
        if proposal.value not in WIDTHS:
            listed = ", ".join(map(str, WIDTHS))
            raise traitlets.TraitError(f"d_k: expected a power of 2, one of {listed}, got {proposal.value}")
        return proposal.value

    def logits(self):
        """What the softmax gets (S,)."""
        return logits(self.scores, self.d_k, self.root, self.temperature)

    def weights(self):
        """The weights as drawn (S,): the twin of the page."""
        return softmax(self.logits())

    def variance(self):
        """Variance, over the keys, of what the softmax gets."""
        return float(self.logits().var())

    def entropy(self):
        """Of the weights, in bits."""
        return entropy(self.weights())

    def jacobian_norm(self):
        """Of the softmax at the present scores."""
        return jacobian_norm(self.weights())

    def curve(self, root):
        """[(entropy, Jacobian norm), ...] at each of WIDTHS, the temperature as it is."""
        shares = [softmax(logits(self.scores, width, root, self.temperature)) for width in WIDTHS]
        return [(entropy(weights), jacobian_norm(weights)) for weights in shares]

    def sentence(self):
        weights, norm = self.weights(), self.jacobian_norm()
        most = best(weights)
        said = self.say(
            "sentence",
            d_k=self.d_k,
            how=self.say("divided" if self.root else "raw"),
            temperature=_plain(self.temperature),
            variance=_plain(self.variance()),
            token=seen(self.tokens[most]),
            share=fixed(weights[most]),
            entropy=fixed(self.entropy()),
            most=fixed(math.log2(len(weights))),
            norm=_small(norm),
        )
        return said if norm >= SATURATED else f"{said} {self.say('saturated' if len(weights) > 1 else 'alone')}"

    def draw(self):
        figure, (bars, *curves) = figures.panels(3, width=2.7, height=2.7)
        weights = self.weights()
        places = range(len(weights))
        bars.barh(places, weights)
        bars.set_yticks(places, [plain(token, 12) for token in self.tokens], fontsize=8)
        for place, weight in zip(places, weights, strict=True):
            bars.text(weight + 0.02, place, fixed(weight), va="center", fontsize=8)
        bars.set(xlim=(0, 1.2), ylim=(len(weights) - 0.5, -0.5), xticks=[0, 0.5, 1])
        bars.set_title(f"{self.say('weight')} (d_k = {self.d_k})", fontsize=9)
        for axes, at, name, now in zip(
            curves, (0, 1), ("entropy", "norm"), (self.entropy(), self.jacobian_norm()), strict=True
        ):
            for root, look in ((True, "o-"), (False, "s--")):
                values = [point[at] for point in self.curve(root)]
                axes.plot(WIDTHS, values, look, markersize=4, label=self.say("with_root" if root else "without_root"))
            axes.plot([self.d_k], [now], "o", markersize=13, fillstyle="none", color="black")
            axes.set_xscale("log", base=2)
            axes.set_xticks(WIDTHS[::2], WIDTHS[::2], fontsize=8)
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set(xlabel="d_k", ylim=(-0.03 * _top(name, len(weights)), 1.05 * _top(name, len(weights))))
            axes.set_title(self.say(name), fontsize=9)
        curves[0].legend(fontsize=8, loc="center right")
        return figure


def softmax_lab(scores, tokens, d_k=64, temperature=1.0, root=True, lang="en"):
    """Explore the softmax of one query's scores.

    scores: (S,), at most 16, array or tensor: what q · k / √d_k gives for unit variance, so numbers around -3 to 3; the
    lab multiplies them with √d_k to get q · k. tokens: the S keys. d_k: a power of 2 from 4 to 1024.
    temperature: 0.1 to 10. root: divide by √d_k.
    """
    scores = numbers(scores, "scores", None)
    tokens = list(tokens)
    if len(tokens) != len(scores):
        raise ValueError(f"tokens: expected one for each of the {len(scores)} scores, got {len(tokens)}")
    if not 1 <= len(scores) <= MOST_TOKENS:
        raise ValueError(f"scores: expected 1 to {MOST_TOKENS} numbers, got {len(scores)}. Take fewer keys.")
    if np.abs(scores).max() > MOST_SCORE:
        raise ValueError(
            f"scores: expected q · k / √d_k, numbers of order 1 and at most {MOST_SCORE:g}, got "
            f"{scores[np.abs(scores).argmax()]:g}. Are they divided by √d_k?"
        )
    return SoftmaxLab(
        scores=rounded(scores), tokens=token_list(tokens, "tokens", len(scores)),
        d_k=d_k, temperature=temperature, root=root, lang=lang,
    )  # fmt: skip
