"""Lesson 10, decoding and evaluation."""

from .beam_search import EXERCISE as BEAM_SEARCH
from .corpus_bleu import EXERCISE as CORPUS_BLEU
from .greedy_search import EXERCISE as GREEDY_SEARCH
from .sample_next import EXERCISE as SAMPLE_NEXT

EXERCISES = (GREEDY_SEARCH, BEAM_SEARCH, SAMPLE_NEXT, CORPUS_BLEU)
