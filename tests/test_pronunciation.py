import numpy
import pytest
import torch

from course_lib.data.g2p import G2P, GRAPHEMES, PHONEMES, g2p_installed, g2p_words, load_g2p
from course_lib.pronunciation import Pronouncer, pronounce


def random_weights(width=6):
    generator = numpy.random.default_rng(0)
    shapes = {"enc_emb": (29, width), "dec_emb": (74, width), "fc_w": (74, width), "fc_b": (74,)}
    for side in ("enc", "dec"):
        shapes |= {f"{side}_w_ih": (3 * width, width), f"{side}_w_hh": (3 * width, width)}
        shapes |= {f"{side}_b_ih": (3 * width,), f"{side}_b_hh": (3 * width,)}
    return G2P({name: generator.normal(size=shape).astype("float32") for name, shape in shapes.items()})


def test_equals_the_published_formulas():
    """The network written out in numpy: letters and their end sign in, the likeliest phoneme out."""
    weights = random_weights()
    a, model = weights.arrays, Pronouncer(weights)

    def cell(x, h, side):
        from_x = a[f"{side}_w_ih"] @ x + a[f"{side}_b_ih"]
        from_h = a[f"{side}_w_hh"] @ h + a[f"{side}_b_hh"]
        (xr, xz, xn), (hr, hz, hn) = numpy.split(from_x, 3), numpy.split(from_h, 3)
        r, z = 1 / (1 + numpy.exp(-xr - hr)), 1 / (1 + numpy.exp(-xz - hz))
        return (1 - z) * numpy.tanh(xn + r * hn) + z * h

    for word in ("a", "animal", "é'"):
        h = numpy.zeros(6)
        for letter in [*word, "</s>"]:
            h = cell(a["enc_emb"][GRAPHEMES.index(letter) if letter in GRAPHEMES else 1], h, "enc")
        numpy.testing.assert_allclose(model.encode([word]).squeeze().numpy(force=True), h, atol=1e-5)
        expected, last = [], PHONEMES.index("<s>")
        while len(expected) < 8:
            h = cell(a["dec_emb"][last], h, "dec")
            last = int((a["fc_w"] @ h + a["fc_b"]).argmax())
            if PHONEMES[last] == "</s>":
                break
            expected.append(PHONEMES[last])
        assert [s for s in pronounce(model, [word], 8)[0]] == [s for s in expected if s != "<pad>"]


def test_words_do_not_see_each_other():
    model = Pronouncer(random_weights())
    words = ["a", "antidisestablishmentarianism", "bee"]
    assert pronounce(model, words) == [pronounce(model, [word])[0] for word in words]
    assert pronounce(model, []) == []


def test_the_arrays_are_copied():
    weights = random_weights()
    model = Pronouncer(weights)
    with torch.no_grad():
        model.output.weight.zero_()
        model.letters.weight.zero_()
    assert weights.arrays["fc_w"].all() and weights.arrays["enc_emb"].all()


@pytest.mark.skipif(not g2p_installed(), reason="optional package g2p-en is not installed")
def test_published_weights_pronounce():
    model = Pronouncer(load_g2p())
    assert pronounce(model, ["animal"]) == [tuple("AE1 N IH0 M AH0 L".split())]
    words = g2p_words()
    written = pronounce(model, [word for word, _ in words])
    right = [said in allowed for said, (_, allowed) in zip(written, words, strict=True)]
    assert sum(right) > 0.5 * len(right)
