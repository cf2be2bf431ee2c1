"""The sampler of lesson 10: the beam as a tree, and what temperature, top-k and top-p do to the next token.

The page draws, ranks and filters; the kernel asks `next_logits`, the learner's own model, once a step of the beams.
"""

import json
import math

import traitlets

from .base import Explorable, fixed, module, name_of
from .beam_tree import GOES_ON, WIDTHS, ask_tree, asker
from .drawn_texts import drawn_text
from .head_maps import MOST_BYTES
from .sampler_arguments import MOST_LENGTH, check
from .sampler_picture import picture
from .sampler_view import bars, finished, looked_at, on_show, path_of, plain
from .tokens import chance, seen

MOST_DRAWN = 8  # texts that are kept
HIGHEST = {"alpha": 2.0, "temperature": 3.0, "top_p": 1.0}


class Sampler(Explorable):
    """`text` is the source; `width` and `step` of its beam are on show, ended texts ranked at `alpha`.

    `node` is looked at: the ids of the text that it ends. A step beyond the end is the last one; of a node that is not
    in the tree it is the longest beginning that is. `temperature`, `top_k` and `top_p` as in `generation.draw`;
    `draws` counts the texts drawn so far. `answer` is the tree of `text` (`beam_tree.tree_of`), `drawn` the last texts.
    """

    NAME = "sampler"
    STATE = ("text", "width", "step", "alpha", "node", "temperature", "top_k", "top_p", "draws")
    _esm = module(NAME)

    text = traitlets.Unicode().tag(sync=True)
    width = traitlets.Int(3).tag(sync=True)
    step = traitlets.Int(MOST_LENGTH).tag(sync=True)
    alpha = traitlets.Float(0.0).tag(sync=True)
    node = traitlets.List(traitlets.Int()).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    top_k = traitlets.Int(None, allow_none=True).tag(sync=True)
    top_p = traitlets.Float(1.0).tag(sync=True)
    draws = traitlets.Int(0).tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)  # the sources to choose from
    tokens = traitlets.Int().tag(sync=True)  # V
    eos = traitlets.Int().tag(sync=True)
    max_length = traitlets.Int(MOST_LENGTH).tag(sync=True)
    function = traitlets.Unicode().tag(sync=True)  # name of `next_logits`
    answer = traitlets.Dict().tag(sync=True)
    drawn = traitlets.List().tag(sync=True)

    def __init__(self, next_logits, symbols, spell, **state):
        self._next_logits, self._symbols, self._spell = next_logits, symbols, spell
        self._answers = {}
        super().__init__(**state)
        self.observe(self._refresh, "text")
        self.observe(lambda change: self._draw(change.old), "draws")
        self._refresh()
        self._draw(0)

    @traitlets.validate("text")
    def _one_of_them(self, proposal):
        if self.texts and proposal.value not in self.texts:
            raise traitlets.TraitError(f"text: expected one of the {len(self.texts)} sentences, got {proposal.value!r}")
        return proposal.value

    @traitlets.validate("width", "step", "top_k", "draws")
    def _a_count(self, proposal):
        name, value = proposal.trait.name, proposal.value
        low, high = {"width": (1, WIDTHS[-1]), "top_k": (1, self.tokens)}.get(name, (0, math.inf))
        if value is not None and not low <= value <= high:
            most = "or more" if high == math.inf else f"to {high}"
            none = ", or None" if name == "top_k" else ""
            raise traitlets.TraitError(f"{name}: expected {low} {most}{none}, got {value}")
        return value

    @traitlets.validate("alpha", "temperature", "top_p")
    def _in_range(self, proposal):
        name, value = proposal.trait.name, proposal.value
        if not 0 <= value <= HIGHEST[name]:
            raise traitlets.TraitError(f"{name}: expected 0 to {HIGHEST[name]:g}, got {value}")
        return value

    @traitlets.validate("node")
    def _of_ids(self, proposal):
        if self.tokens and not all(0 <= token < self.tokens for token in proposal.value):
            raise traitlets.TraitError(f"node: expected ids from 0 to {self.tokens - 1}, got {proposal.value}")
        return proposal.value

    def _ask(self, text):
        """The tree of a source, asked for once."""
        if text not in self._answers:
            ask = asker(self._next_logits, text, self.tokens)
            self._answers[text] = ask_tree(ask, self._symbols, self.eos, self._spell, self.max_length)
        return self._answers[text]

    def _refresh(self, _=None):
        if self.answer.get("for") != self.text:
            self.drawn = [entry for entry in self.drawn if entry["for"] == self.text]
            self.answer = {"for": self.text, **self._ask(self.text)}

    def _draw(self, before):
        """The texts that `draws` counts and that are not drawn yet; only the last ones can be seen."""
        how = {name: getattr(self, name) for name in ("temperature", "top_k", "top_p")}
        how |= {"eos": self.eos, "max_length": self.max_length}
        ask = asker(self._next_logits, self.text, self.tokens)
        kept = [entry for entry in self.drawn if entry["number"] <= self.draws]
        for number in range(max(before, self.draws - MOST_DRAWN) + 1, self.draws + 1):
            kept.append({"for": self.text, **drawn_text(ask, number, self._symbols, self._spell, **how)})
        self.drawn = kept[-MOST_DRAWN:]

    def page_state(self):
        """A page of its own has no kernel: it gets the trees of all sentences, up to 2 MB, and cannot draw."""
        answers, room = {}, MOST_BYTES
        for text in sorted(self.texts, key=lambda text: text != self.text):  # the present one first
            room -= len(json.dumps(self._ask(text), ensure_ascii=False))
            answers |= {text: self._ask(text)} if room > 0 else {}
        return {**super().page_state(), "answer": {}, "answers": answers, "alone": True}

    def steps(self):
        """The steps of the beam up to the one on show: [[[node, fate], ...], ...]."""
        return self.answer["widths"][str(self.width)][: self.step]

    def tree(self):
        """{node: (column, row, kind)} of what is drawn: the twin of the page."""
        return on_show(self.answer, self.steps(), self.alpha)

    def ended(self):
        """[(node, tokens, sum, score), ...] of the ended texts, the best first: the twin of the page."""
        return finished(self.answer, self.steps(), self.alpha)

    def place(self):
        """The node that is looked at."""
        return looked_at(self.answer, self.tree(), self.node)

    def bars(self):
        """What may follow the node (`sampler_view.bars`): the twin of the page. None where nothing can."""
        following = self.answer["next"][self.place()]
        return following and bars(following, self.temperature, self.top_k, self.top_p)

    def symbol(self, token):
        """A token as it is said."""
        return seen(self.answer["symbols"][str(token)])

    def prefix(self, node):
        """The text of a node as its tokens, without the end token."""
        return " ".join(self.symbol(token) for token in path_of(self.answer, node) if token != self.eos)

    def written(self, node):
        """A finished text as people write it; one that was cut off goes on."""
        cut = "" if self.answer["nodes"][node][1] == self.eos else " …"
        return self.answer["texts"][str(node)] + cut

    def title(self):
        """What stands above the bars."""
        at = self.place()
        values = {"prefix": self.prefix(at), "sum": fixed(self.answer["nodes"][at][3])}
        return self.say("next", **values) if at else self.say("next_first")

    def how(self):
        """Temperature, top-k and top-p as text."""
        top_k = self.say("off") if self.top_k is None else self.top_k
        return {"temperature": plain(self.temperature), "top_k": top_k, "top_p": plain(self.top_p)}

    def sentence(self):
        if "problem" in self.answer:
            return self.say("failed", text=self.text, name=self.function, problem=self.answer["problem"])
        steps, ended = self.steps(), self.ended()
        going = sum(fate == GOES_ON for _, fate in steps[-1]) if steps else 1
        values = {"text": self.text, "width": self.width, "step": len(steps), "going": going, "ended": len(ended)}
        said = [self.say("state", all=len(self.answer["widths"][str(self.width)]), **values)]
        if ended:
            node, length, total, score = ended[0]
            values = {"alpha": plain(self.alpha), "text": self.written(node), "length": length}
            said.append(self.say("front", **values, sum=fixed(total), score=fixed(score)))
        said += self._next()
        if self.drawn and "text" in self.drawn[-1]:
            said.append(self.say("last_drawn", text=self.drawn[-1]["text"], sum=fixed(self.drawn[-1]["sum"])))
        return " ".join(said)

    def _next(self):
        """What may follow the node, in words."""
        at, found = self.place(), self.bars()
        path = path_of(self.answer, at)
        if not found:
            return [self.say("over" if path[-1] == self.eos else "full", prefix=self.prefix(at), length=len(path))]
        (first, *_), _, before, now, left = found
        values = {"prefix": self.prefix(at), "token": self.symbol(first), "chance": chance(before[0])}
        said = [self.say("likeliest" if path else "likeliest_first", **values)]
        if (self.temperature, self.top_k, self.top_p) != (1, None, 1):
            said.append(self.say("drawn_with", **self.how(), chance=chance(now[0]), left=left, all=self.tokens))
        return said

    def draw(self):
        return picture(self)


def sampler(next_logits, sentences, *, symbols, eos, spell=" ".join, max_length=16, **state):
    """Explore how a model writes: the beam of width 1 to 5 as a tree, and each next token before it is drawn.

    next_logits: function (sentence, prefixes) -> logits (N, V), tensor or array. prefixes: N tuples of the ids written
    so far, of different lengths, the empty one first of all. It is asked in this kernel when a sentence is shown for
    the first time, once a step for the beams of all widths, and once a token for a text that is drawn; what it raises
    is said. `generation.next_logits` answers so for a model of the course.
    sentences: 1 to 8 texts to choose from, the source. symbols: the V tokens. eos: id of the end token.
    spell: function tokens -> text, without the end token. max_length: 1 to 20 tokens.
    state: where to begin, such as text, width=3, step (the last one unless given), alpha=0, node=[], temperature=1,
    top_k=None, top_p=1, draws=0; and lang.

    The tree is that of `generation.beam(..., n_best=width)` without penalty: `alpha` ranks what that has set aside, all
    of it. So with a penalty the library may find a longer text still, since it then goes on. At most 64 nodes are
    drawn. The page knows the 32 likeliest tokens of each distribution, and takes all others for equally likely: their
    sum is right, but a high temperature, or a top_k or top_p that reaches into them, sees them flatter than they are.
    """
    texts, symbols = check(next_logits, sentences, symbols, eos, spell, max_length)
    unknown = [name for name in state if name not in (*Sampler.STATE, "lang")]
    if unknown:
        raise TypeError(f"{unknown[0]}: no state of a sampler; it has {', '.join((*Sampler.STATE, 'lang'))}")
    state = {"text": texts[0], "step": max_length, **state, "node": [int(token) for token in state.get("node", ())]}
    return Sampler(
        next_logits, symbols, spell, texts=texts, tokens=len(symbols), eos=eos,
        max_length=max_length, function=name_of(next_logits, "next_logits"), **state,
    )  # fmt: skip
