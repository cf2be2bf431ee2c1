"""Lesson 11, three families: encoders, decoders, and both together."""

from .attend_with_cache import EXERCISE as ATTEND_WITH_CACHE
from .classify import EXERCISE as CLASSIFY
from .mean_pool import EXERCISE as MEAN_POOL
from .next_token_loss import EXERCISE as NEXT_TOKEN_LOSS

EXERCISES = (MEAN_POOL, CLASSIFY, NEXT_TOKEN_LOSS, ATTEND_WITH_CACHE)
