"""Lesson 12, what attention costs."""

from .linear_attention import EXERCISE as LINEAR_ATTENTION
from .online_softmax import EXERCISE as ONLINE_SOFTMAX
from .sliding_window_mask import EXERCISE as SLIDING_WINDOW_MASK
from .tiled_attention import EXERCISE as TILED_ATTENTION

EXERCISES = (ONLINE_SOFTMAX, TILED_ATTENTION, SLIDING_WINDOW_MASK, LINEAR_ATTENTION)
