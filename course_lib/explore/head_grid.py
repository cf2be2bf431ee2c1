"""The head grid of lesson 6: the maps of all heads of all layers; open one, compare two, switch heads off.

The page draws; the kernel asks `ablate`, the learner's own function, what the model loses without a head.
"""

import math

import numpy as np
import traitlets
from matplotlib.patches import Rectangle

from course_lib import figures

from .base import COLOURS, MARK, Explorable, best, fixed, module, name_of, token_list
from .head_maps import ask, maps_of, pooled, row_difference
from .tokens import plain, seen

NUMBERS = 8  # beyond so many heads the picture has no room for numbers
CELLS = 6_000  # of all small maps of the picture together, which keeps it small
LABELS = 24  # so many tokens a map of the picture has room for: of more, every second one and so on; half for two maps


class HeadGrid(Explorable):
    """`opened` and `second` are [layer, head], counted from 0 (`second` [] for none); `row` is the query looked at.

    `off` switches the opened head off, and asks `ablate` what that costs; `answers` holds what it said, by head.
    `stretch` gives each map the whole range of colours.
    """

    NAME = "head_grid"
    STATE = ("opened", "second", "row", "off", "stretch")
    _esm = module(NAME)

    opened = traitlets.List([0, 0]).tag(sync=True)
    second = traitlets.List().tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    off = traitlets.Bool(False).tag(sync=True)
    stretch = traitlets.Bool(False).tag(sync=True)
    maps = traitlets.List().tag(sync=True)  # (layers, heads, T, S)
    target_tokens = traitlets.List().tag(sync=True)
    source_tokens = traitlets.List().tag(sync=True)
    function = traitlets.Unicode("").tag(sync=True)  # name of `ablate`, "" where there is none
    answers = traitlets.Dict().tag(sync=True)

    def __init__(self, ablate, **state):
        self._ablate = ablate
        super().__init__(**state)
        self.observe(self._refresh, ["opened", "off"])
        self._refresh()

    @traitlets.validate("opened", "second")
    def _a_head(self, proposal):
        name, value = proposal.trait.name, proposal.value
        if not self.maps or (name == "second" and value == []):
            return value
        layers, heads = len(self.maps), len(self.maps[0])
        if len(value) != 2 or value[0] not in range(layers) or value[1] not in range(heads):
            none = " or []" if name == "second" else ""
            raise traitlets.TraitError(
                f"{name}: expected [layer, head], 0 to {layers - 1} and 0 to {heads - 1}{none}, got {value}"
            )
        return [int(value[0]), int(value[1])]

    @traitlets.validate("row")
    def _a_query(self, proposal):
        last = len(self.target_tokens) - 1
        if self.target_tokens and not 0 <= proposal.value <= last:
            raise traitlets.TraitError(f"row: expected 0 to {last}, got {proposal.value}")
        return proposal.value

    @traitlets.validate("off")
    def _can_ask(self, proposal):
        if proposal.value and self._ablate is None:
            raise traitlets.TraitError("off: expected False where no ablate is given, got True")
        return proposal.value

    def weights(self, which="opened"):
        """The map (T, S) of the opened head, or of the second one: the twin of the page."""
        layer, head = getattr(self, which)
        return np.array(self.maps[layer][head])

    def costs(self):
        """{(layer, head): what `ablate` said} of the heads that were switched off so far."""
        known = {tuple(map(int, key.split("-"))): answer for key, answer in self.answers.items()}
        return {head: known[head]["cost"] for head in sorted(known) if "cost" in known[head]}

    def _refresh(self, _=None):
        key = f"{self.opened[0]}-{self.opened[1]}"
        if self.off and key not in self.answers:
            self.answers = {**self.answers, key: ask(self._ablate, *self.opened)}

    def page_state(self):
        return {**super().page_state(), "alone": True}  # a page of its own has no kernel to wait for

    def _named(self, head):
        return self.say("head_name", layer=head[0] + 1, head=head[1] + 1)

    def _looks(self, which):
        weights = self.weights(which)[self.row]
        most = best(weights)
        return self.say(
            "looks" if weights[most] > 0 else "nothing",
            name=self._named(getattr(self, which)),
            row=self.row,
            query=seen(self.target_tokens[self.row]),
            column=most,
            token=seen(self.source_tokens[most]),
            share=fixed(weights[most]),
        )

    def sentence(self):
        parts = [self._looks("opened")]
        if self.second:
            differ = row_difference(self.weights(), self.weights("second"))
            parts += [self._looks("second"), self.say("differ", share=fixed(differ))]
        if self.off:
            answer, costs = self.answers[f"{self.opened[0]}-{self.opened[1]}"], self.costs()
            values = {"name": self.function, "head": self._named(self.opened), **answer}
            parts.append(self.say("problem" if "problem" in answer else "cost", **values))
            if len(costs) > 1:
                most = max(costs, key=costs.get)
                text = self.answers[f"{most[0]}-{most[1]}"]["text"]
                every = len(self.maps) * len(self.maps[0])
                parts.append(self.say("costliest", asked=len(costs), all=every, head=self._named(most), text=text))
        return " ".join(parts)

    def draw(self):
        chosen = [self.opened, *([self.second] if self.second else [])]
        figure, (grid, *large) = figures.panels(1 + len(chosen), width=3.0, height=max(3.0, 0.9 + 0.5 * len(self.maps)))
        _draw_grid(grid, self)
        for axes, head, which in zip(large, chosen, ("opened", "second"), strict=False):
            off = self.off and which == "opened"
            axes.set_title(self._named(head) + (f" ({self.say('is_off')})" if off else ""), fontsize=9)
            _draw_map(axes, self, self.weights(which))
        return figure


def _draw_grid(axes, shown):
    """All heads, small; below each what its loss costs, where that is known."""
    maps = np.array(shown.maps)
    layers, heads = maps.shape[:2]
    side = max(4, math.isqrt(CELLS // (layers * heads)))
    for layer, head in np.ndindex(layers, heads):
        top = (maps[layer, head].max() or 1) if shown.stretch else 1
        extent = (head + 0.06, head + 0.94, layer + 0.76, layer + 0.02)
        axes.imshow(pooled(maps[layer, head], side), vmin=0, vmax=top, cmap=COLOURS, extent=extent)
        answer = shown.answers.get(f"{layer}-{head}", {})
        text = "!" if "problem" in answer else answer.get("text", "")
        if heads <= NUMBERS:
            axes.text(head + 0.5, layer + 0.88, text, ha="center", va="center", fontsize=7 if heads > 6 else 8)
        for which, dash in (([*shown.opened], "-"), ([*shown.second], "--")):
            if which == [layer, head]:
                frame = Rectangle((head + 0.03, layer), 0.94, 0.78, fill=False, edgecolor=MARK, lw=2, ls=dash)
                axes.add_patch(frame)
    axes.grid(False)
    axes.set(
        xlim=(0, heads),
        ylim=(layers, 0),
        aspect="auto" if layers > 2 else max(1.25, heads / 5),
        xlabel=shown.say("head"),
        ylabel=shown.say("layer"),
    )
    axes.set_xticks(np.arange(heads) + 0.5, range(1, heads + 1), fontsize=8)
    axes.set_yticks(np.arange(layers) + 0.4, range(1, layers + 1), fontsize=8)
    axes.tick_params(length=0)
    axes.set_title(shown.say("grid_costs" if shown.answers and heads <= NUMBERS else "all_heads"), fontsize=9)
    for side in axes.spines.values():
        side.set_visible(False)


def _draw_map(axes, shown, weights):
    top = (weights.max() or 1) if shown.stretch else 1
    axes.imshow(weights, vmin=0, vmax=top, cmap=COLOURS, aspect="auto")
    axes.grid(False)
    for tokens, put, turn in ((shown.source_tokens, axes.set_xticks, 90), (shown.target_tokens, axes.set_yticks, 0)):
        step = math.ceil(len(tokens) / (LABELS // 2 if shown.second else LABELS))
        names = [f"{at} {plain(token, 8)}" for at, token in enumerate(tokens)][::step]
        put(range(0, len(tokens), step), names, rotation=turn, fontsize=7)
    axes.set(xlabel=shown.say("key"), ylabel=shown.say("query"))
    size = (weights.shape[1] - 0.04, 0.96)
    axes.add_patch(Rectangle((-0.48, shown.row - 0.48), *size, fill=False, edgecolor=MARK, lw=2, clip_on=False))


def _pair(head):
    return list(head) if isinstance(head, tuple) else head


def head_grid(
    attn, tokens=None, ablate=None, *, target_tokens=None, source_tokens=None,
    opened=(0, 0), second=(), row=0, off=False, stretch=False, lang="en",
):  # fmt: skip
    """Explore the attention weights of several heads, for one sentence.

    attn: (layers, heads, T, S) or (heads, T, S), array or tensor; rows are queries. Four axes always start with the
    layers, never with a batch: the (1, heads, T, S) that one layer gives for one sentence is right as it is.
    tokens: of rows and columns alike, or target_tokens and source_tokens. At most 8 layers, 16 heads, 64 tokens, 2 MB.
    ablate: (layer, head), counted from 0 -> how much worse the model gets without that head, a number: what its
    accuracy falls or its loss rises by. It is asked in this kernel when a head is switched off, once a head. The page
    counts layers and heads from 1.
    opened, second: (layer, head), counted from 0. row: the query that is looked at.
    """
    maps = maps_of(attn)
    if ablate is not None and not callable(ablate):
        raise TypeError(f"ablate: expected a function (layer, head) -> number, got a {type(ablate).__name__}")
    sides = {}
    for name, given, count in (
        ("target_tokens", target_tokens, len(maps[0][0])), ("source_tokens", source_tokens, len(maps[0][0][0])),
    ):  # fmt: skip
        called, given = ("tokens", tokens) if given is None else (name, given)
        if given is None:
            raise ValueError(f"{name}: expected {count} tokens, got none. Give tokens, or both sides' own")
        sides[name] = token_list(given, called, count)
    function = name_of(ablate, "ablate") if ablate else ""
    return HeadGrid(
        ablate, maps=maps, **sides, function=function,
        opened=_pair(opened), second=_pair(second), row=row, off=off, stretch=stretch, lang=lang,
    )  # fmt: skip
