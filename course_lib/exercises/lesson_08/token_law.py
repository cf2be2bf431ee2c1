"""A law of what treats each token alone: layer norm and feed-forward."""

from course_lib.checking import Case, Law
from course_lib.checking.laws import call, close


def _alone(function, cases, generator):
    """For the first token and the last: what flows back shows in one, what flows on in the other."""
    for case in cases:
        x, *others = case.args
        width, axes = x.shape[-1], (1,) * (x.ndim - 1)
        together = call(function, case).reshape(-1, width)
        for i in (0, -1):
            single = x.reshape(-1, width)[i].reshape(*axes, width)
            if not close(call(function, Case(case.label, (single, *others))).reshape(-1), together[i]):
                return f"a token gives something else when it is alone ({case.label})"
    return None


each_token_alone = Law("each token alone", _alone, "Which line lets one token change another?")
