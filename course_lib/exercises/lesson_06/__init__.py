"""Lesson 6, multi-head attention."""

from .merge_heads import EXERCISE as MERGE_HEADS
from .multi_head_attention import EXERCISE as MULTI_HEAD_ATTENTION
from .multi_head_attention_module import EXERCISE as MULTI_HEAD_ATTENTION_MODULE
from .split_heads import EXERCISE as SPLIT_HEADS

EXERCISES = (SPLIT_HEADS, MERGE_HEADS, MULTI_HEAD_ATTENTION, MULTI_HEAD_ATTENTION_MODULE)
