"""What a function makes of a sentence that somebody typed, as the translator needs it; no widget in here.

An answer is a dict for the page: the translation, or the problem as a phrase of the catalogue with its values.
"""

import json

from course_lib.data.korean import UnknownWord, write_english
from course_lib.translation import END, Translation, UnseenWord

from .base import numbers, problem, rounded, token_list
from .head_maps import MOST_BYTES

PARTS = ("source", "target", "cross")


def ask(translate, name, text, shape=()):
    """The answer to `text`. Nothing that `translate` does gets past this: what it raises is a sentence.

    {"source", "target", "text" (the translation), "ended" (by an end token), "cross" (layers, H, T, S),
    "probability"}, or {"problem", "values"}.
    shape: (layers, heads) that other sentences have; () for any.
    """
    if not any(letter.isalnum() for letter in text):
        return {"problem": "empty", "values": {}}
    try:
        return _answer(translate(text), shape)
    except UnknownWord as error:
        near = ", ".join(error.near)
        return {"problem": "unknown" if near else "unknown_far", "values": {"word": error.word, "near": near}}
    except UnseenWord as error:
        return {"problem": "unseen", "values": {"words": ", ".join(error.words)}}
    except Exception as error:  # the function is the learner's, and may raise anything
        return {"problem": "failed", "values": {"name": name, "problem": problem(error)}}


def ask_all(translate, name, texts):
    """({text: answer}, (layers, heads) of all of them; () if there is no translation). Raises ValueError above 2 MB."""
    answers, shape = {}, ()
    for text in texts:
        answers[text] = ask(translate, name, text, shape)
        shape = shape or shape_of(answers[text])
    size = len(json.dumps(answers, ensure_ascii=False))
    if size > MOST_BYTES:
        raise ValueError(
            f"examples: expected at most {MOST_BYTES / 1e6} MB of translations, got {size / 1e6:.1f} MB "
            f"({len(answers)} sentences, {' × '.join(map(str, shape))} heads). Take fewer."
        )
    return answers, shape


def shape_of(answer):
    """(layers, heads) of an answer, () of a problem."""
    return (len(answer["cross"]), len(answer["cross"][0])) if "cross" in answer else ()


def _answer(result, shape):
    if isinstance(result, tuple) and not hasattr(result, "cross") and len(result) in (3, 4):
        result = Translation(*result)
    missing = [part for part in PARTS if not hasattr(result, part)]
    if missing:
        raise TypeError(f"it must return a Translation, got a {type(result).__name__} without {', '.join(missing)}")
    cross = numbers(result.cross, "cross", None, None, None, None)
    layers, heads, T, S = cross.shape
    if not cross.size:
        raise ValueError(f"cross: expected (layers, heads, T, S), each at least 1, got {cross.shape}")
    if shape and tuple(shape) != (layers, heads):
        raise ValueError(f"cross: expected {shape[0]} layers and {shape[1]} heads as before, got {layers} and {heads}")
    if cross.min() < 0 or cross.max() > 1.01:  # bfloat16 rounds
        raise ValueError("cross: expected weights from 0 to 1. Are they scores before the softmax?")
    source, target = token_list(result.source, "source", S), token_list(result.target, "target", T)
    probability = getattr(result, "probability", ())
    return {
        "source": source,
        "target": target,
        "text": Translation(source, target, cross, spell=getattr(result, "spell", write_english)).text,
        "ended": END in target,
        "cross": rounded(cross),
        "probability": rounded(numbers(probability, "probability", T)) if len(probability) else [],
    }
