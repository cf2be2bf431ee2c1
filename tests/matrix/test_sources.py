"""Every mistake on record for these lessons has its place: a named mistake of an exercise, or a test of the library."""

import re

import pytest

from course_lib import exercises
from course_lib.authoring.catalogue import repo_root

IN_EXERCISES = {
    "A004": "output buffer with an empty first slot, targets cut at different ends",
    "A005": "one decoding step too many",
    "A006": "encoder state at the last column of a padded batch",
    "A009": "rows not put back after sorting by length",
    "A012": "a score without the encoder's states",
    "A013": "softmax over an axis of length 1",
    "A016": "padding takes part",
    "A017": "a masked copy that is not used",
    "A019": "an attentional state without tanh",
    "A020": "softmax over the batch axis",
    "A022": "the score of a Luong decoder from the state before",
    "A023": "scaled by the root of another width",
    "A024": "multiplied by the root instead of divided",
    "A026": "softmax over the queries",
    "A028": "softmax without subtracting the maximum",
    "A030": "the mask after the softmax",
    "A031": "scores multiplied by the mask",
    "A032": "hidden scores filled with plus infinity",
    "A034": "a fill that is not low enough",
    "A037": "a row with nothing to see is NaN",
    "A038": "a row with nothing to see is uniform",
    "A041": "padding queries hidden instead of padding keys",
    "A043": "an id hard-coded from one vocabulary",
    "A044": "the first padding key stays visible",
    "A045": "an out-of-place fill whose result is dropped",
    "A047": "a mask that is taken and not handed on",
    "A050": "a position that may not see itself",
    "A051": "the other triangle",
    "A052": "an additive mask where a boolean one is expected",
    "A054": "a mask that holds on one path only",
    "A048": "a mask tiled over heads in the other order",
    "A056": "heads split by a view, tokens mixed up",
    "A057": "heads merged without putting the axes back",
    "A058": "one projection shared by all heads",
    "A060": "no output projection",
    "A063": "heads averaged instead of joined",
    "A066": "an exponent for every feature instead of every pair",
    "A067": "sine and cosine of a pair with frequencies of their own",
    "A069": "the exponent's fraction rounded down",
    "A070": "another base, exponents that start elsewhere",
    "A072": "positions counted along the batch",
    "A075": "a sentence longer than the table",
    "A077": "angles of adjacent pairs, rotation of halves",
    "A079": "cached tokens that begin at position 0 again",
    "A081": "angles in half precision",
    "A082": "layer norm's statistics over the sequence",
    "A086": "one norm for two sub-layers",
    "A088": "a shortcut that carries the normalised input",
    "A090": "the caller's tensor is changed",
    "A091": "no activation between the two layers, or one after the second",
    "A093": "cross-attention that reads the decoder",
    "A094": "self-attention called again where cross-attention belongs",
    "A096": "source and target mask exchanged",
    "A097": "one block used N times",
    "A100": "padding in the mean of the loss",
    "A101": "softmax in front of a loss that applies it",
    "A103": "smoothing mass on padding, padded rows in the loss, their mask inverted",
    "A105": "probabilities where logarithms are required, log of an exact zero",
    "A106": "a schedule whose steps count from 0",
    "A108": "a schedule on a base rate, or with a rate in place of the width",
    "A109": "decoding stops with the first row that ends",
    "A111": "temperature 0 divides by zero",
    "A113": "a beam that starts from copies of one text",
    "A114": "states that do not follow the texts of a beam",
    "A117": "a beam, or top-k, wider than the vocabulary",
    "A118": "no mask where a cache is",
    "A120": "a causal mask aligned top-left where keys came before",
    "A121": "a cache that is kept for the next text",
    "A125": "targets not shifted",
    "A129": "sequence-first code on batch-first data",
    "A130": "a mask with True = hidden",
    "A132": "projected twice",
    "B001": "a mean that is divided again",
}
# Not a function that a learner writes in these lessons: the library's own tests hold them.
IN_LIBRARY_TESTS = {
    "A002": ("tests/test_generation.py", "what a model writes never depends on a target"),
    "A007": ("tests/test_recurrent.py", "the two directions of an encoder"),
    "A010": ("tests/test_recurrent.py", "no gradient from later target tokens"),
    "A062": ("tests/test_multi_head_attention.py", "any memory layout"),
    "A071": ("tests/test_positions.py", "an odd width is refused"),
    "A074": ("tests/test_positions.py", "the sinusoid has no parameters"),
    "A076": ("tests/test_positions.py", "positions follow the tokens, whatever their number"),
    "A123": ("tests/test_cached_attention.py", "a memory that is projected once and does not grow"),
    "A124": ("tests/test_positions.py", "the offset of cached decoding"),
    "A127": ("tests/test_decoder_only.py", "a tied matrix that starts as torch's embeddings do"),
    "A084": ("tests/test_blocks.py", "statistics of a norm that leak from later tokens"),
    "A099": ("tests/test_blocks.py", "layers that start as copies of one"),
    "A039": ("tests/test_scaled_dot_product.py", "dropout by its argument alone"),
}


@pytest.mark.parametrize("source", IN_EXERCISES)
def test_a_mistake_on_record_is_one_of_an_exercise(source):
    found = [
        mistake.name
        for name in exercises.names()
        for mistake in exercises.get(name).mistakes
        if re.search(rf"\b{source}\b", mistake.source)
    ]
    assert found, IN_EXERCISES[source]


@pytest.mark.parametrize("source", IN_LIBRARY_TESTS)
def test_the_others_are_held_by_tests_of_the_library(source):
    file, what = IN_LIBRARY_TESTS[source]
    assert source in (repo_root() / file).read_text(encoding="utf-8"), what
