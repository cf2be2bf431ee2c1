"""The bottleneck of lesson 1: how much of a string one vector brings back, by length, width and task."""

import traitlets

from course_lib import figures

from .base import Explorable, module, rounded

MARKERS = "os^vD"


class Bottleneck(Explorable):
    """Curves of recall by length, one a width, and recall by position for the chosen width."""

    NAME = "bottleneck"
    STATE = ("task", "length", "width")
    _esm = module(NAME)

    task = traitlets.Unicode("copy").tag(sync=True)
    length = traitlets.Int().tag(sync=True)
    width = traitlets.Int().tag(sync=True)
    tasks = traitlets.List().tag(sync=True)
    lengths = traitlets.List().tag(sync=True)
    widths = traitlets.List().tag(sync=True)
    seeds = traitlets.Int().tag(sync=True)
    curves = traitlets.Dict().tag(sync=True)  # {task: {width as text: [recall by length]}}
    places = traitlets.Dict().tag(sync=True)  # {task: {width as text: [recall by position, longest strings]}}

    @traitlets.validate("task", "length", "width")
    def _known(self, proposal):
        allowed = getattr(self, proposal.trait.name + "s")
        if allowed and proposal.value not in allowed:
            raise traitlets.TraitError(f"{proposal.trait.name} is one of {allowed}, got {proposal.value!r}")
        return proposal.value

    def recall(self):
        """Share of symbols right for the chosen task, width and length: the twin of the page's number."""
        return self.curves[self.task][str(self.width)][self.lengths.index(self.length)]

    def by_position(self):
        """Share of symbols right at each position of the longest strings, for the chosen task and width."""
        return self.places[self.task][str(self.width)]

    def sentence(self):
        places = self.by_position()
        return self.say(
            "sentence",
            task=self.say(self.task),
            width=self.width,
            length=self.length,
            longest=len(places),
            seeds=self.seeds,
            recall=_percent(self.recall()),
            first=_percent(places[0]),
            last=_percent(places[-1]),
        )

    def draw(self):
        figure, (left, right) = figures.panels(2, width=3.7, height=2.7)
        for marker, width in zip(MARKERS, self.widths, strict=False):
            wide = 2.5 if width == self.width else 1.0
            label = self.say("numbers", width=width)
            left.plot(self.lengths, self.curves[self.task][str(width)], marker=marker, linewidth=wide, label=label)
        left.plot([self.length], [self.recall()], "o", markersize=14, fillstyle="none", color="black")
        left.set(xlabel=self.say("length_axis"), ylim=(0, 1.03))
        left.set_title(self.say("by_length"), fontsize=10)
        left.legend(fontsize=8)
        values = self.by_position()
        right.bar(range(1, len(values) + 1), values)
        right.set(xlabel=self.say("position_axis"), ylim=(0, 1.03))
        right.set_title(self.say("by_position", longest=len(values)), fontsize=10)
        return figure


def _percent(share):
    return int(share * 100 + 0.5)  # as JavaScript rounds


def bottleneck(results=None, task="copy", length=12, width=64, lang="en"):
    """Explore what one vector brings back.

    results: as `load_bottleneck()` gives them (the default). task: "copy" or "reverse". length, width: where to begin;
    the nearest that was measured is taken.
    """
    if results is None:
        from course_lib.experiments.bottleneck import load_bottleneck

        results = load_bottleneck()
    points = results["points"]
    tasks, widths = ([*dict.fromkeys(point[name] for point in points)] for name in ("task", "width"))
    lengths = list(points[0]["token"])
    curves, places = {}, {}
    for name in tasks:
        curves[name], places[name] = {}, {}
        for wide in widths:
            same = [point for point in points if (point["task"], point["width"]) == (name, wide)]
            if not same:
                raise ValueError(f"the results hold no point for {name} with width {wide}")
            curves[name][str(wide)] = [_mean(point["token"][at] for point in same) for at in lengths]
            places[name][str(wide)] = [_mean(column) for column in zip(*(p["position"] for p in same), strict=True)]
    return Bottleneck(
        tasks=tasks,
        lengths=lengths,
        widths=widths,
        seeds=len({point["seed"] for point in points}),
        curves=curves,
        places=places,
        task=task,
        length=min(lengths, key=lambda at: abs(at - length)),
        width=min(widths, key=lambda at: abs(at - width)),
        lang=lang,
    )


def _mean(values):
    values = list(values)
    return rounded(sum(values) / len(values))
