"""Lesson 8, the Transformer block."""

from .encoder_block import EXERCISE as ENCODER_BLOCK
from .feed_forward import EXERCISE as FEED_FORWARD
from .layer_norm import EXERCISE as LAYER_NORM
from .residual import EXERCISE as RESIDUAL

EXERCISES = (FEED_FORWARD, LAYER_NORM, RESIDUAL, ENCODER_BLOCK)
