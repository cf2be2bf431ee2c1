"""Laws of sampling: how many tokens are left, how much they weigh, and what a row does not depend on."""

import math

import torch

from course_lib.checking import Case, Law
from course_lib.checking.laws import call, close, reordered, rows_independent, shift_invariant, sums_to_one
from course_lib.checking.ways import attempt, one_for_each_way

ROUNDING = 1e-9


def _of_probabilities(law):
    """The same law, held against the second result alone."""

    def broken(function, cases, generator):
        return law.broken(lambda *args, **kwargs: function(*args, **kwargs)[1], cases, generator)

    return Law(law.name, broken, law.question)


def _drawn_by_what_is_returned(function, cases, generator):
    for case in cases:
        logits, draw, *rest = case.args
        seen = []

        def watched(probabilities, draw=draw, seen=seen):
            seen.append(probabilities.detach())
            return draw(probabilities)

        _, returned = call(function, Case(case.label, (logits, watched, *rest)))
        if not close(torch.cat([logits[:0], *seen]), returned):
            return f"`draw` gets something else than the probabilities that come back ({case.label})"
    return None


def _beyond_the_vocabulary(function):
    """In a few words, what happens with a top_k larger than V."""
    case = Case("", (torch.tensor([[0.5, 2.0, 1.0], [1.5, 0.0, -1.0]]), lambda p: p.argmax(dim=-1), 1.0, 4))
    found = attempt(lambda: call(function, case)[1])
    if isinstance(found, str):
        return "raises an error"
    return "keeps all" if close(found, case.args[0].softmax(-1)) else "keeps something else than all of them"


def _settings(case):
    """logits, temperature, top_k, top_p of a case, with what it leaves out."""
    logits, _, *rest = case.args
    return (logits, *rest, *(1.0, None, None)[len(rest) :])


def _surest_at_zero(function, cases, generator):
    for case in cases:
        logits, temperature, *_ = _settings(case)
        p = call(function, case)[1]
        if temperature == 0 and not close(p.gather(-1, logits.argmax(-1, keepdim=True)), torch.ones(len(p), 1)):
            return f"at temperature 0 the likeliest token is not certain ({case.label})"
    return None


def _leaves_k(function, cases, generator):
    for case in cases:
        logits, temperature, top_k, top_p = _settings(case)
        if top_k is None or top_p is not None or temperature == 0:
            continue
        left = (call(function, case)[1] > 0).sum(-1)  # (B,)
        if (left != min(top_k, logits.shape[-1])).any():
            return f"with top_k={top_k} your rows can draw from {left.tolist()} tokens"
    return None


def _nucleus(function, cases, generator):
    for case in cases:
        logits, temperature, top_k, top_p = _settings(case)
        if top_p is None or temperature == 0:
            continue
        likeliest = (logits / temperature).topk(min(top_k or math.inf, logits.shape[-1]))
        p = torch.zeros_like(logits).scatter(-1, likeliest.indices, likeliest.values.softmax(-1))
        left = call(function, case)[1] > 0
        mass = (p * left).sum(-1)
        last = torch.where(left, p, math.inf).amin(-1)
        if (mass < top_p - ROUNDING).any():
            return f"in a row the tokens that are left had less than top_p={top_p} together ({case.label})"
        if (mass - last > top_p + ROUNDING).any():
            return f"in a row fewer tokens would have had top_p={top_p} together ({case.label})"
    return None


LAWS = (
    _of_probabilities(sums_to_one(lambda case: -1)),
    Law("temperature 0 is sure", _surest_at_zero, "Which filter leaves the likeliest token alone?"),
    Law("top_k leaves k", _leaves_k, "Which scores are at least as high as the k-th highest of their row?"),
    Law("a nucleus is just enough", _nucleus, "What do the probabilities of all likelier tokens sum to?"),
    _of_probabilities(rows_independent({0})),
    _of_probabilities(shift_invariant()),
    _of_probabilities(reordered("any order of the vocabulary", {0: (1,)}, {0: (1,)},
                                "What knows a token by its id, where it should be known by its probability?")),
    Law("drawn by what is returned", _drawn_by_what_is_returned, "Which tensor do you give to `draw`, and how?"),
    *one_for_each_way(
        "top_k beyond the vocabulary",
        _beyond_the_vocabulary,
        right="keeps all",
        ways=("raises an error",),
        where="with a top_k larger than the vocabulary your function",
        question="How many tokens are left when k are asked for and there are fewer?",
    ),
)  # fmt: skip
