"""Lesson 9, the Transformer."""

from .decoder_block import EXERCISE as DECODER_BLOCK
from .label_smoothing_loss import EXERCISE as LABEL_SMOOTHING_LOSS
from .make_masks import EXERCISE as MAKE_MASKS
from .noam_rate import EXERCISE as NOAM_RATE
from .transformer_forward import EXERCISE as TRANSFORMER_FORWARD

EXERCISES = (MAKE_MASKS, DECODER_BLOCK, TRANSFORMER_FORWARD, NOAM_RATE, LABEL_SMOOTHING_LOSS)
