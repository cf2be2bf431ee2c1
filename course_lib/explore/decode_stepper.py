"""The decode stepper of lesson 1: a trained decoder one token at a time, teacher forced or free, with one error fed in.

Every run that can be shown is made by the model when the explorable is made (`decode_runs`); the page looks it up.
"""

import math

import numpy as np
import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .base import MARK, Explorable, fixed, module
from .decode_runs import all_runs, check, ids_in, longest
from .tokens import chance, plain, seen, shorten

MOST_LETTERS = 9  # of a token in the line of steps


class DecodeStepper(Explorable):
    """`step` is looked at; `forcing` is teacher forcing; at step `inject_at` (0: nowhere) `inject_token` is read."""

    NAME = "decode_stepper"
    STATE = ("step", "forcing", "inject_at", "inject_token")
    _esm = module(NAME)

    step = traitlets.Int(1).tag(sync=True)
    forcing = traitlets.Bool(False).tag(sync=True)
    inject_at = traitlets.Int(0).tag(sync=True)
    inject_token = traitlets.Unicode("").tag(sync=True)
    source = traitlets.Unicode("").tag(sync=True)
    steps = traitlets.Int().tag(sync=True)  # of the longest run
    symbols = traitlets.Dict().tag(sync=True)  # {id as text: symbol} of the tokens that occur
    runs = traitlets.Dict().tag(sync=True)  # as `all_runs` gives them

    @traitlets.validate("step", "inject_at")
    def _in_range(self, proposal):
        name, value, low = proposal.trait.name, proposal.value, 1 if proposal.trait.name == "step" else 2
        if self.steps and not low <= value <= self.steps and (name, value) != ("inject_at", 0):
            nowhere = "0 (nowhere), or from 2" if name == "inject_at" else "from 1"
            raise traitlets.TraitError(f"{name}: expected {nowhere} to {self.steps}, got {value}")
        return value

    @traitlets.validate("inject_token")
    def _known(self, proposal):
        if self.symbols and proposal.value not in ("", *self.symbols.values()):
            known = " ".join(self.symbols.values())
            raise traitlets.TraitError(f'inject_token: expected "" or one of {known}, got {proposal.value!r}')
        return proposal.value

    def choices(self):
        """[(token, probability), ...] that may be read instead at the present step, in the present mode."""
        found = self.runs[self._mode()]["errors"].get(str(self.step), [])
        return [(self.symbols[str(token)], share) for token, share, _ in found]

    def error(self):
        """(place, id, steps from there on) of the error that is shown; None where none is, or none is possible."""
        for token, _, steps in self.runs[self._mode()]["errors"].get(str(self.inject_at), []):
            if self.symbols[str(token)] == self.inject_token:
                return self.inject_at, token, steps
        return None

    def shown(self):
        """One dict a step of the present run: the twin of the page. `without`: what is written without the error."""
        run, error = self.runs[self._mode()], self.error()
        steps, reads = run["plain"], run["reads"]
        if error:
            place, token, changed = error
            steps = steps[: place - 1] + changed
            later = reads[place:] if self.forcing else [ids[0] for ids, _, _ in changed[:-1]]
            reads = [*reads[: place - 1], token, *later]
        lines = []
        for at, (ids, shares, moved) in enumerate(steps):
            without = self.symbols[str(run["plain"][at][0][0])] if at < len(run["plain"]) else None
            tokens = [self.symbols[str(number)] for number in ids]
            line = {"reads": self.symbols[str(reads[at])], "writes": tokens[0], "without": without, "moved": moved}
            lines.append(line | {"top": tokens, "shares": shares})
        return lines

    def sentence(self):
        lines, error = self.shown(), self.error()
        values = {"step": self.step, "all": len(lines), "mode": self.say("forcing" if self.forcing else "free")}
        if self.step > len(lines):
            here = self.say("ended", **values)
        else:
            line = lines[self.step - 1]
            read, written, share = seen(line["reads"]), seen(line["writes"]), chance(line["shares"][0])
            here = self.say("here", **values, read=read, written=written, share=share)
        values = {"place": self.inject_at, "token": seen(self.inject_token)}
        if error:
            return f"{here} {self.say('spread', **values, **self._spread(lines))}"
        return f"{here} {self.say('impossible' if self.inject_at else 'untouched', **values)}"

    def _spread(self, lines):
        """How far the error goes, from its place on, in numbers."""
        place, run = self.inject_at, self.runs[self._mode()]
        differ = sum(line["writes"] != line["without"] for line in lines[place - 1 :])
        differ += max(0, len(run["plain"]) - len(lines))  # steps that only the undisturbed run has
        moved = [line["moved"] for line in lines[place - 1 :] if line["moved"] is not None]
        return {
            "was": seen(self.symbols[str(run["reads"][place - 1])]),
            "differ": differ,
            "rest": max(len(lines), len(run["plain"])) - place + 1,
            "mean": fixed(sum(moved) / len(moved)),
            "most": fixed(max(moved)),
            "at": place + moved.index(max(moved)),
        }

    def _mode(self):
        return "forced" if self.forcing else "free"

    def draw(self):
        return picture(self, self.shown(), self.error())


def picture(explorable, lines, error):
    """The line of steps as a table, with the top five of the present step beside it, as a matplotlib figure."""
    say, step = explorable.say, explorable.step
    longest_name = max(len(plain(line[name], MOST_LETTERS).encode()) for line in lines for name in ("reads", "writes"))
    wide = max(0.42, 0.1 + 0.08 * longest_name) * len(lines)  # inches of the line of steps
    figure = Figure(figsize=(4.6 + wide, 2.6), dpi=100, layout="constrained")
    table, bars = figure.subplots(1, 2, width_ratios=(1.2 + wide, 2.6))
    names = ("reads", "writes", "without", "moved")
    moved = np.full((len(names), len(lines)), np.nan)
    for at, line in enumerate(lines):
        texts = [plain(line["reads"], MOST_LETTERS), plain(line["writes"], MOST_LETTERS), "", ""]
        differs = line["writes"] != line["without"]
        if error and at >= error[0] - 1:
            texts[2] = plain(line["without"] or "–", MOST_LETTERS) if differs else "="
            if line["moved"] is not None:
                moved[3, at], texts[3] = line["moved"], fixed(line["moved"])
        for row, text in enumerate(texts):
            # on cividis, black is read on the upper part only
            ink = "white" if not math.isnan(moved[row, at]) and moved[row, at] < 0.5 else "black"
            table.text(at, row, text, ha="center", va="center", fontsize=8 if row == 3 else 10, color=ink)
    table.imshow(moved, vmin=0, vmax=1, aspect="auto")
    table.grid(False)
    table.set_xticks(range(len(lines)), range(1, len(lines) + 1))
    table.set_yticks(range(len(names)), [say(name) for name in names])
    table.tick_params(length=0)
    source, mode = shorten(explorable.source, 12 + 4 * len(lines)), say("forcing" if explorable.forcing else "free")
    table.set_title(f"{source} ({mode})".strip().replace("$", r"\$"), fontsize=10)
    table.set_xlabel(say("step"))
    for at, row, tall, style in ((step - 1, 0, 4, "-"), (error[0] - 1 if error else -1, 0, 1, ":")):
        if 0 <= at < len(lines):
            edge = {"fill": False, "edgecolor": MARK, "linewidth": 2, "linestyle": style}
            table.add_patch(Rectangle((at - 0.47, row - 0.47), 0.94, tall - 0.06, **edge))
    if step <= len(lines):
        tokens, shares = lines[step - 1]["top"], lines[step - 1]["shares"]
        bars.barh(range(len(tokens)), shares)
        for at, share in enumerate(shares):
            bars.text(share + 0.03, at, chance(share), va="center", fontsize=9)
        bars.set_yticks(range(len(tokens)), [plain(token, MOST_LETTERS) for token in tokens])
    bars.set(xlim=(0, 1.35), xticks=(0, 0.5, 1))
    bars.grid(False)
    bars.invert_yaxis()
    bars.set_title(say("next", step=step), fontsize=10)
    return figure


def decode_stepper(model, batch, vocabulary, *, source="", max_length=16, lang="en",
                   step=1, forcing=False, inject_at=0, inject_token=""):  # fmt: skip
    """Explore how a trained model writes one sentence, a token at a time, and what one wrong token does to it.

    model: with `encode` and `step`, as for `generation.write`. batch: one example, as `make_batch` gives it; its target
    is what teacher forcing feeds. vocabulary: of the target. source: the text of the source, to show.
    max_length: how many tokens a free run may write. step, forcing, inject_at, inject_token: where to begin.
    """
    check(model, batch, vocabulary, max_length)
    runs = all_runs(model, batch, max_length)
    return DecodeStepper(
        runs=runs,
        steps=max(map(longest, runs.values())),
        symbols={str(number): vocabulary.symbols[number] for number in sorted(ids_in(runs))},
        source=source, lang=lang, step=step, forcing=forcing, inject_at=inject_at, inject_token=inject_token,
    )  # fmt: skip
