"""Lesson 5, self-attention and masks."""

from .causal_mask import EXERCISE as CAUSAL_MASK
from .cross_attention import EXERCISE as CROSS_ATTENTION
from .masked_attention import EXERCISE as MASKED_ATTENTION
from .padding_mask import EXERCISE as PADDING_MASK
from .self_attention import EXERCISE as SELF_ATTENTION

EXERCISES = (MASKED_ATTENTION, PADDING_MASK, CAUSAL_MASK, SELF_ATTENTION, CROSS_ATTENTION)
