"""What attention costs, of lesson 12: turn length, width and heads, and see what grows how.

The page counts by itself (`cost_counts` is its twin); the kernel is asked to measure, a learner's own function too.
"""

import traitlets

from .base import Explorable, fixed, module
from .cost_counts import (
    CHOICES,
    KINDS,
    PLACES,
    SHARED,
    Setting,
    bytes_in_words,
    crossing,
    formulas,
    grouped,
    growth,
    large,
    layer,
    memory,
    multiplications,
    percent,
    times,
)
from .cost_measure import function_of, measure
from .cost_picture import picture


class Cost(Explorable):
    """`length` N, `width` D, `heads` H, `layers` L, `texts` B, `size` bytes of a number: of CHOICES.

    `kind` of attention, of KINDS, with its `window`; `shared`: which heads have keys of their own, of SHARED.
    `measures` counts how often it was measured; `answer` is what came out the last time (`cost_measure.measure`),
    with the count ("asked") and the state ("for") that it belongs to.
    """

    NAME = "cost"
    STATE = (*Setting._fields, "measures")
    _esm = module(NAME)

    length = traitlets.Int(8192).tag(sync=True)
    width = traitlets.Int(1024).tag(sync=True)
    heads = traitlets.Int(16).tag(sync=True)
    layers = traitlets.Int(24).tag(sync=True)
    texts = traitlets.Int(16).tag(sync=True)
    size = traitlets.Int(2).tag(sync=True)
    kind = traitlets.Enum(KINDS, default_value="full").tag(sync=True)
    window = traitlets.Int(256).tag(sync=True)
    shared = traitlets.Enum(SHARED, default_value="all").tag(sync=True)
    measures = traitlets.Int(0).tag(sync=True)
    choices = traitlets.Dict(CHOICES).tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, attention=None, **state):
        super().__init__(**state)
        self._own = {} if attention is None else {self.kind: attention}
        self.observe(self._measure, "measures")
        self._measure()

    @traitlets.validate(*CHOICES)
    def _of_choices(self, proposal):
        name, value = proposal.trait.name, proposal.value
        if value not in CHOICES[name]:
            known = ", ".join(map(str, CHOICES[name]))
            raise traitlets.TraitError(f"{name}: expected one of {known}, got {value}")
        return value

    @traitlets.validate("measures")
    def _a_count(self, proposal):
        if proposal.value < 0:
            raise traitlets.TraitError(f"measures: expected 0 or more, got {proposal.value}")
        return proposal.value

    def _measure(self, _=None):
        if self.measures:
            attention = self._own.get(self.kind) or function_of(self.kind, self.window)
            self.answer = {"asked": self.measures, "for": self.block(), **measure(attention, self.setting())}

    def page_state(self):
        return {**super().page_state(), "alone": True}  # a page of its own has no kernel that could measure

    def setting(self):
        """The present state as `cost_counts` takes it."""
        return Setting(*(getattr(self, name) for name in Setting._fields))

    def block(self):
        """What a measurement depends on, but for the lengths, which it names itself."""
        return [self.kind, self.width, self.heads, *([self.window] if self.kind == "window" else [])]

    def measured(self):
        """The answer, if the present block was measured; else None."""
        valid = self.measures and self.answer.get("asked") == self.measures and self.answer["for"] == self.block()
        return self.answer if valid else None

    def word(self, name):
        """How a row is called: linear attention keeps states, not keys and values."""
        return self.say("states" if name == "cache" and self.kind == "linear" else name)

    def table(self):
        """{row: [amount, growth with N, with D, with H, formula]} as text: the twin of the page."""
        s = self.setting()
        amounts = {name: large(number) for name, number in multiplications(s).items()}
        amounts |= {name: bytes_in_words(number) for name, number in memory(s).items()}
        grows, how = growth(s), formulas(s)
        return {name: [amount, *map(times, grows[name]), how[name]] for name, amount in amounts.items()}

    def counted(self):
        """Of the measured lengths, by which factor the counted multiplications of a layer grow from one to the next."""
        lengths = [length for length, *_ in self.measured()["rows"]]
        whole = [layer(self.setting()._replace(length=length, shared="all"))[0] for length in lengths]
        return [None, *(now / before for before, now in zip(whole, whole[1:], strict=False))]

    def sentence(self):
        return " ".join([*self._multiplied(), *self._kept(), *self._heads(), *self._measured()])

    def _multiplied(self):
        """What attention takes of a layer, and what a GRU would."""
        s = self.setting()
        (whole, attention), at = layer(s), crossing(s)
        covers = self.kind == "window" and self.window >= self.length
        key = {"window": "covers" if covers else "in_window", "linear": "is_linear"}.get(self.kind, "square")
        values = {"length": grouped(self.length), "window": grouped(self.window), "share": percent(attention, whole)}
        said = [self.say(key, **values)]
        if at and key != "in_window":
            said.append(self.say("crosses", crossing=grouped(at)))
        values |= {"layer": large(whole), "gru": large(multiplications(s)["gru"])}
        values |= {"layers": self.layers, "texts": self.texts, "total": large(whole * self.layers * self.texts)}
        return [*said, self.say("one_layer", **values), self.say("in_all", **values)]

    def _kept(self):
        """The bytes, the largest of them, and where they fit."""
        kept = memory(self.setting())
        values = {name: bytes_in_words(number) for name, number in kept.items()}
        values |= {"most": self.word(max(kept, key=kept.get)), "sum": bytes_in_words(sum(kept.values()))}
        fits = [name for most, name in PLACES if sum(kept.values()) <= most]
        key = "memory_linear" if self.kind == "linear" else "memory"
        return [self.say(key, **values), self.say(f"fits_{(*fits, 'neither')[0]}", **values)]

    def _heads(self):
        """What twice the heads would change."""
        grows = {name: times(factors[-1]) for name, factors in growth(self.setting()).items()}
        if grows["layer"] == "–":
            return [self.say("most_heads")]
        return [self.say("heads_linear" if self.kind == "linear" else "twice_heads", **grows)]

    def _measured(self):
        """The times, and what stood in the way of longer ones."""
        found = self.measured()
        if found is None:
            return []
        if "problem" in found:
            return [self.say("raised", name=found["name"], problem=found["problem"])]
        if not found["rows"]:
            return [self.say("too_wide")]
        rows = [(grouped(length), plain(ms), times(factor)) for length, ms, factor in found["rows"]]
        listed = [self.say("row" if at else "first_row", length=row[0], ms=row[1], factor=row[2])
                  for at, row in enumerate(rows)]  # fmt: skip
        said = [self.say("measured", name=found["name"], rows="; ".join(listed))]
        said += [self.say("counts_say", factors=", ".join(map(times, self.counted()[1:])))] if len(rows) > 1 else []
        said += [self.say("all_heads")] if self.shared != "all" else []
        longest = found["rows"][-1][0]
        return [*said, self.say("stopped", longest=grouped(longest))] if longest < self.length else said

    def draw(self):
        return picture(self)


def plain(milliseconds):
    """At most two digits behind the point, as the page writes them."""
    return f"{float(fixed(milliseconds)):.15g}"


def cost(*, attention=None, **state):
    """Turn length, width, heads, layers and texts, and see what grows how: multiplications, memory, measured time.

    attention: None, or a function by the contract of `attention.scaled_dot_product_attention`. Where the kind of
    attention is the one given here (`kind`, "full" unless given), it is measured in place of the library's own.
    state: where to begin: length=8192 (tokens, 16 to 1,048,576), width=1024 (64 to 8,192), heads=16 (1 to 64),
    layers=24, texts=16 (at once), size=2 (bytes of a number, or 4), kind="full" ("tiled", "window", "linear"),
    window=256, shared="all" (heads with keys of their own; "quarter", "one"), measures=0 (1: measure at once); and
    lang. Numbers are powers of two, but for the layers.

    How all is counted: `cost_counts.multiplications` and `cost_counts.memory`. One encoder block is measured, in this
    kernel and below a second: one text, float32, keys for every head.
    """
    unknown = [name for name in state if name not in (*Cost.STATE, "lang")]
    if unknown:
        raise TypeError(f"{unknown[0]}: no state of cost; it has {', '.join((*Cost.STATE, 'lang'))}")
    if attention is not None and not callable(attention):
        kind = type(attention).__name__
        raise TypeError(f"attention: expected a function (query, key, value, ...) -> (output, weights), got a {kind}")
    return Cost(attention, **state)
