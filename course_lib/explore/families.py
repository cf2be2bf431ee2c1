"""The three families of lesson 11: one text, who may see whom in it, and what a cache saves those that write.

All of it follows from the mask and from how many tokens are written, so the page needs no kernel; this is its twin.
"""

import traitlets

from .base import Explorable, module
from .families_picture import picture
from .family_masks import (
    FAMILIES,
    MOST_TOKENS,
    disagreements,
    grids_of,
    kept_of,
    mask_of,
    measure,
    scores_of,
    stages_of,
)
from .tokens import seen

SOURCE, TARGET = ("나", "는", "너", "를", "사랑해"), ("I", "love", "you")


class Families(Explorable):
    """`family` is on show, `token` the place that is looked at, from 0: source, separator, target, in each family.

    `written` target tokens are written, and the next one is asked for. `cache`: whether keys and values are kept.
    `measured` has for some families what a model of the caller's does ({family: (N, N)}, `family_masks.measure`).
    """

    NAME = "families"
    STATE = ("family", "token", "written", "cache")
    _esm = module(NAME)

    family = traitlets.Enum(FAMILIES, default_value="encoder-decoder").tag(sync=True)
    token = traitlets.Int(0).tag(sync=True)
    written = traitlets.Int(0).tag(sync=True)
    cache = traitlets.Bool(True).tag(sync=True)
    source = traitlets.List(traitlets.Unicode()).tag(sync=True)
    target = traitlets.List(traitlets.Unicode()).tag(sync=True)
    separator = traitlets.Unicode().tag(sync=True)
    begin = traitlets.Unicode().tag(sync=True)  # what stands in the separator's place where a decoder has its own text
    d_model = traitlets.Int().tag(sync=True)
    num_layers = traitlets.Int().tag(sync=True)
    measured = traitlets.Dict().tag(sync=True)

    @traitlets.validate("token", "written")
    def _in_range(self, proposal):
        name, value = proposal.trait.name, proposal.value
        high = len(self.target) if name == "written" else len(self.source) + len(self.target)
        if self.target and not 0 <= value <= high:
            raise traitlets.TraitError(f"{name}: expected 0 to {high}, got {value}")
        return value

    def places(self):
        """The N tokens as they are said."""
        between = self.begin if self.family == "encoder-decoder" else self.separator
        return [seen(token) for token in (*self.source, between, *self.target)]

    def _sizes(self):
        return self.family, len(self.source), len(self.source) + 1 + len(self.target)

    def mask(self):
        """(N, N) bool, True = may attend."""
        return mask_of(*self._sizes())

    def grids(self):
        """{name: (rows, columns)}, what is drawn of the mask."""
        return grids_of(*self._sizes())

    def stages(self):
        """When the row of each place is computed: "now", "before" or "later"."""
        return stages_of(*self._sizes(), self.written, self.cache)

    def scores(self, cache):
        """Of each pass so far, how many scores it computed with or without a cache."""
        return scores_of(*self._sizes(), self.written, cache)

    def kept(self):
        """Of how many tokens keys and values are kept: those that grow in number, those that do not."""
        return kept_of(self.family, len(self.source), self.written) if self.cache else (0, 0)

    def disagreements(self):
        """Cells where the measured model and the mask disagree (`family_masks`); None if nobody measured."""
        return disagreements(self.mask(), self.measured[self.family]) if self.family in self.measured else None

    def strip(self, name):
        """For each key of a grid, when its key and value are computed; none where no text is written from them.

        Without a cache all are computed in each pass; with one, those from before are kept.
        """
        if self.family == "encoder-only" or (self.family == "encoder-decoder" and name == "encoder"):
            return []
        stages = [self.stages()[column] for column in self.grids()[name][1]]
        return stages if self.cache else ["now" if stage == "before" else stage for stage in stages]

    def title(self, name):
        """What stands above a grid."""
        full = "self_full" if self.family == "encoder-only" else "self_causal"
        return self.say(name if self.family == "encoder-decoder" else full)

    def sentence(self):
        return " ".join([self.say(f"is_{self.family}"), *self._sight(), *self.writing(), *self._measured()])

    def _sight(self):
        """What the chosen token may see."""
        places, row, S = self.places(), self.mask()[self.token], len(self.source)
        crosses = self.family == "encoder-decoder" and self.token >= S
        values = {"token": places[self.token], "source": _listed(places[:S])}
        near = [name for at, name in enumerate(places) if row[at] and not (crosses and at < S)]
        said = [self.say("sees_cross" if crosses else "sees", seen=_listed(near), **values)]
        if not row.all():
            said.append(self.say("not_seen", hidden=_listed(name for at, name in enumerate(places) if not row[at])))
        said.append(self.say("reach", count=int(row.sum()), all=len(places)))
        if self.family == "encoder-only" or self.token < S:
            return said
        following = places[self.token + 1 : self.token + 2]
        said.append(self.say("next", next=following[0]) if following else self.say("next_end"))
        return [*said, self.say("not_yet")] if self.token > S + self.written else said

    def writing(self):
        """What the pass under way computes, and what was computed and kept so far."""
        rows, cached, anew = self.stages().count("now"), self.scores(True), self.scores(False)
        now = grouped((cached if self.cache else anew)[-1])
        if self.family == "encoder-only":
            return [self.say("pass_all", rows=rows, now=now)]
        values = {"written": self.written, "all": len(self.target), "now": now, "rows": rows}
        newest = self.places()[len(self.source) + self.written]
        said = [self.say("pass_row" if rows == 1 else "pass_rows", token=newest, **values)]
        said.append(self.say("so_far", cached=grouped(sum(cached)), anew=grouped(sum(anew))))
        if not self.cache:
            return [*said, self.say("keeps_nothing")]
        growing, fixed = self.kept()
        layer = 2 * (growing + fixed) * self.d_model
        values = {"growing": growing, "layer": grouped(layer), "model": grouped(layer * self.num_layers)}
        return [*said, self.say("keeps_cross" if fixed else "keeps", fixed=fixed, **values)]

    def _measured(self):
        """Where a measured model and the mask disagree; nothing is claimed where nobody measured."""
        if self.disagreements() is None:
            return []
        leaks, blind = self.disagreements()
        said = [self.say("leaks", count=len(leaks)) if leaks else self.say("agrees")]
        drawn = [(row, column) for rows, columns in self.grids().values() for row in rows for column in columns]
        unseen = sum(tuple(cell) not in drawn for cell in leaks)
        if unseen:
            said.append(self.say("unseen", count=unseen))
        return [*said, self.say("blind", count=len(blind))] if blind else said

    def draw(self):
        return picture(self)


def grouped(number):
    """A whole number with a comma at every third digit."""
    return f"{number:,}"


def _listed(names):
    return ", ".join(names)


def _tokens(given, name):
    """A list of at least one text. Raises TypeError or ValueError."""
    if isinstance(given, str):
        raise TypeError(f"{name}: expected a list of tokens, got the one text {given!r:.60}")
    tokens = list(given)
    wrong = [token for token in tokens if not isinstance(token, str) or not token]
    if wrong:
        raise TypeError(f"{name}: expected tokens that are texts, got {wrong[0]!r:.60} among them")
    if not tokens:
        raise ValueError(f"{name}: expected at least one token, got none")
    return tokens


def families(
    source=SOURCE, target=TARGET, *, separator="=", begin="<bos>", d_model=512, num_layers=6, influence=None, **state
):
    """See one text as an encoder-only, an encoder–decoder and a decoder-only model sees it, and watch a cache grow.

    source, target: lists of tokens, together 2 to 12. The first and the last family read source, separator and target
    as one text; the decoder of the second begins with `begin` in the separator's place. So all have the same places.
    d_model, num_layers: for the count of kept numbers, 2 · tokens · d_model a layer; those of the paper's base model.
    influence: None, or {"encoder-only": f, ...} for some of the families, where f() returns (N, N) of bools or numbers,
    N = S + 1 + T: whether, or how much, the output at a row's place depends on the token at a column's place, as
    gradients through all layers of the caller's model measure it; all but 0 counts. Of the encoder–decoder the first S
    rows are the encoder's outputs, the others the decoder's. Cells that disagree with the mask are marked.
    state: where to begin, such as family="encoder-decoder", token (a place, from 0; the second target token unless
    given), written (0 to T, all unless given), cache=True; and lang.
    """
    source, target = _tokens(source, "source"), _tokens(target, "target")
    count = len(source) + len(target)
    if count > MOST_TOKENS:
        raise ValueError(f"source and target: expected at most {MOST_TOKENS} tokens together, got {count}. Cut them.")
    for name, token in (("separator", separator), ("begin", begin)):
        if not isinstance(token, str) or not token:
            raise TypeError(f"{name}: expected a token that is a text, got {token!r:.60}")
    for name, number in (("d_model", d_model), ("num_layers", num_layers)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ValueError(f"{name}: expected a whole number from 1 on, got {number!r}")
    unknown = [name for name in state if name not in (*Families.STATE, "lang")]
    if unknown:
        raise TypeError(f"{unknown[0]}: no state of families; it has {', '.join((*Families.STATE, 'lang'))}")
    state = {"token": min(len(source) + 2, count), "written": len(target), **state}
    return Families(
        source=source, target=target, separator=separator, begin=begin, d_model=d_model, num_layers=num_layers,
        measured={} if influence is None else measure(influence, count + 1), **state,
    )  # fmt: skip
