"""Lesson 7, positional encoding."""

from .learned_positions import EXERCISE as LEARNED_POSITIONS
from .rotary_embedding import EXERCISE as ROTARY_EMBEDDING
from .shift_matrix import EXERCISE as SHIFT_MATRIX
from .sinusoidal_encoding import EXERCISE as SINUSOIDAL_ENCODING

EXERCISES = (SINUSOIDAL_ENCODING, SHIFT_MATRIX, LEARNED_POSITIONS, ROTARY_EMBEDDING)
