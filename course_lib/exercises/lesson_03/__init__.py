"""Lesson 3, Luong attention."""

from .attentional_state import EXERCISE as ATTENTIONAL_STATE
from .concat_score import EXERCISE as CONCAT_SCORE
from .dot_score import EXERCISE as DOT_SCORE
from .general_score import EXERCISE as GENERAL_SCORE
from .luong_step import EXERCISE as LUONG_STEP

EXERCISES = (DOT_SCORE, GENERAL_SCORE, CONCAT_SCORE, ATTENTIONAL_STATE, LUONG_STEP)
