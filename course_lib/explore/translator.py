"""The translator of lesson 9: type a sentence, see its translation, and for each written token who it looks at.

The page draws; the kernel asks `translate`, the learner's own model, about what is typed (`translation_answers`).
"""

import numpy as np
import traitlets

from .base import Explorable, best, fixed, module, name_of
from .tokens import chance, seen
from .translation_answers import ask, ask_all, shape_of
from .translator_picture import picture

MOST_EXAMPLES = 24
LONGEST = 200  # letters of a sentence


class Translator(Explorable):
    """`text` is translated; `row` is the written token looked at, in `layer` and `head` (None: the mean of all heads).

    A row beyond the end is the last one. `answer` is what `translate` said to a text that is none of the examples.
    """

    NAME = "translator"
    STATE = ("text", "layer", "head", "row")
    _esm = module(NAME)

    text = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(None, allow_none=True).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    translations = traitlets.Dict().tag(sync=True)  # {example: answer}, in the order given
    answer = traitlets.Dict().tag(sync=True)
    shape = traitlets.List().tag(sync=True)  # [layers, heads], [] as long as nothing could be translated
    function = traitlets.Unicode().tag(sync=True)  # name of `translate`

    def __init__(self, translate, **state):
        self._translate = translate
        super().__init__(**state)
        self.observe(self._refresh, "text")
        self._refresh()

    @traitlets.validate("text")
    def _not_too_long(self, proposal):
        if len(proposal.value) > LONGEST:
            raise traitlets.TraitError(f"text: expected at most {LONGEST} letters, got {len(proposal.value)}")
        return proposal.value

    @traitlets.validate("layer", "head", "row")
    def _in_range(self, proposal):
        name, value = proposal.trait.name, proposal.value
        layers, heads = self.shape or (1, 0)
        most = {"layer": layers - 1, "head": heads - 1, "row": np.inf}[name]
        if value is not None and not 0 <= value <= most:
            extra = ", or None" if name == "head" else ""
            high = "or more" if name == "row" else f"to {most}"
            raise traitlets.TraitError(f"{name}: expected 0 {high}{extra}, got {value}")
        return value

    def _refresh(self, _=None):
        if self.text not in self.translations and self.answer.get("for") != self.text:
            answer = ask(self._translate, self.function, self.text, self.shape)
            self.shape = self.shape or list(shape_of(answer))
            self.answer = {"for": self.text, **answer}

    def page_state(self):
        return {**super().page_state(), "alone": True}  # a page of its own has no kernel that could translate

    def shown(self):
        """The answer to the present text (`translation_answers.ask`)."""
        return self.translations.get(self.text, self.answer)

    def weights(self):
        """Who looks where (T, S) in the chosen layer and head: the twin of the page. None where there is a problem."""
        if "problem" in self.shown():
            return None
        heads = np.array(self.shown()["cross"][self.layer])
        return heads.mean(axis=0) if self.head is None else heads[self.head]

    def place(self):
        """Which written token is looked at, at most the last one."""
        return min(self.row, len(self.shown()["target"]) - 1)

    def where(self):
        """Layer and head in words."""
        key = "where_mean" if self.head is None else "where_head"
        return self.say(key, layer=self.layer + 1, head=(self.head or 0) + 1)

    def sentence(self):
        shown, weights = self.shown(), self.weights()
        if weights is None:
            return self.say(shown["problem"], **shown["values"])
        parts = [self.say("becomes" if shown["text"] else "nothing_written", text=self.text, translation=shown["text"])]
        at = self.place()
        most = best(weights[at])
        looks = {"at": at + 1, "all": len(weights), "token": seen(shown["target"][at]), "where": self.where()}
        looks |= {"most": seen(shown["source"][most]), "share": fixed(weights[at][most])}
        parts.append(self.say("looks" if weights[at][most] > 0 else "nowhere", **looks))
        if shown["probability"]:
            parts.append(self.say("chance", chance=chance(shown["probability"][at])))
        if not shown["ended"]:
            parts.append(self.say("unended"))
        return " ".join(parts)

    def draw(self):
        return picture(self)


def translator(translate, examples, *, text=None, layer=None, head=None, row=0, lang="en"):
    """Type a sentence, see its translation, and who looks where.

    translate: a function text -> `course_lib.translation.Translation`, or anything with source, target and cross
    (layers, heads, T, S), and with probability, if it is known. Such a function is
    `functools.partial(course_lib.translation.translate, model, source_vocabulary=..., target_vocabulary=...)`.
    It is asked in this kernel, once for each example now, and for a sentence when it is typed; what it raises is said.
    examples: 1 to 24 sentences to choose from, which a page without a kernel has too. text: where to begin, None for
    the first example. layer, head: counted from 0; None for the last layer, and for the mean over heads. row: the
    written token that is looked at. The page counts all of them from 1.
    """
    if not callable(translate):
        raise TypeError(f"translate: expected a function text -> Translation, got a {type(translate).__name__}")
    if isinstance(examples, str):
        raise TypeError(f"examples: expected a list of sentences, got the one text {examples!r}")
    texts = list(dict.fromkeys(examples))
    texts = [text, *texts] if text and text not in texts else texts
    if not 1 <= len(texts) <= MOST_EXAMPLES:
        raise ValueError(f"examples: expected 1 to {MOST_EXAMPLES} sentences, got {len(texts)}")
    wrong = next((text for text in texts if not isinstance(text, str) or len(text) > LONGEST), None)
    if wrong is not None:
        raise TypeError(f"examples: expected sentences of at most {LONGEST} letters, got {wrong!r:.60}")
    name = name_of(translate, "translate")
    translations, shape = ask_all(translate, name, texts)
    return Translator(
        translate, text=texts[0] if text is None else text, translations=translations, shape=list(shape), function=name,
        layer=max(0, (shape or (1,))[0] - 1) if layer is None else layer, head=head, row=row, lang=lang,
    )  # fmt: skip
