"""Lesson 4, queries, keys and values."""

from .attention_scale import EXERCISE as ATTENTION_SCALE
from .project_qkv import EXERCISE as PROJECT_QKV
from .scaled_dot_product_attention import EXERCISE as SCALED_DOT_PRODUCT_ATTENTION
from .soft_lookup import EXERCISE as SOFT_LOOKUP

EXERCISES = (SOFT_LOOKUP, PROJECT_QKV, ATTENTION_SCALE, SCALED_DOT_PRODUCT_ATTENTION)
