"""Writing with a trained model, one token at a time.

Three searches choose what is written: `greedy` (the likeliest token of each step), `beam` (the likeliest whole text, as
far as a beam sees), `sample` (by chance). All of them take any `step` (token (B,), state) -> (logits (B, V), state), so
they know no model; `write` runs one of them with a model of the course. A beam also asks of the state that it has
`select(rows)`: which of its tensors have the batch where, only who made it knows.

`write_on` does so with a model that has no source, and goes on from texts that are there already; `next_logits` asks a
translator what may follow such texts.

`filters` has what sampling does to the scores of a step, `ranking` the order in which equal scores stand.
"""

from .beam_search import Hypotheses, beam, length_penalty
from .continuations import next_logits
from .greedy_search import greedy
from .sampling import draw, probabilities, sample
from .writing import evaluating, write
from .writing_on import write_on

__all__ = [
    "Hypotheses",
    "beam",
    "draw",
    "evaluating",
    "greedy",
    "length_penalty",
    "next_logits",
    "probabilities",
    "sample",
    "write",
    "write_on",
]
