"""Lesson 1, the Seq2Seq bottleneck."""

from .encode import EXERCISE as ENCODE
from .greedy_decode import EXERCISE as GREEDY_DECODE
from .masked_cross_entropy import EXERCISE as MASKED_CROSS_ENTROPY
from .rnn_cell import EXERCISE as RNN_CELL
from .shift_right import EXERCISE as SHIFT_RIGHT

EXERCISES = (RNN_CELL, ENCODE, SHIFT_RIGHT, GREEDY_DECODE, MASKED_CROSS_ENTROPY)
