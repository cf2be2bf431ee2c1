"""Lesson 2, Bahdanau attention."""

from .additive_score import EXERCISE as ADDITIVE_SCORE
from .bahdanau_step import EXERCISE as BAHDANAU_STEP
from .context_vector import EXERCISE as CONTEXT_VECTOR
from .masked_softmax import EXERCISE as MASKED_SOFTMAX

EXERCISES = (ADDITIVE_SCORE, MASKED_SOFTMAX, CONTEXT_VECTOR, BAHDANAU_STEP)
