"""Explain the first thing that is wrong: by a known mistake, by a law, or by where and how far the values differ."""

from dataclasses import replace

import torch

from .compare import SINGLE, as_number, deviation, gradient_deviation, kind, same_observation
from .describe import argument_names, describe_difference, describe_type, small_grid
from .observe import observe, tell
from .tree import is_float, leaves, tensors

# What torch says, and the question that fits it better than that for shapes in general.
QUESTIONS = {
    "Boolean value of Tensor": "`not`, `and`, `or` want one truth value. Which operators work entry by entry?",
    "Dimension out of range": "Which axis is counted from the front? "
    "From the back, -1 and -2 hold with any axes before them: which do you need?",
    "shape of the mask": "Indexing with a mask does not broadcast. Which method does?",
    "index k out of range": "`topk` was asked for more than there are. How many are there at least?",
    "is not defined": "Is it spelled as where it is made, and has the cell that makes it been run since the kernel "
    "started?",
    "object is not callable": "A result stands where a function is wanted. Who should call it, and with what?",
}


def run_mistake(mistake, cases, seed, gradient=False):
    """Observations of one known mistake on the cases the learner's function saw."""
    return [observe(mistake, case if gradient else replace(case, gradient=False), seed + i)
            for i, case in enumerate(cases)]  # fmt: skip


def shows(seen, expected):
    """Whether an observation is wrong in value: it ran, and gave something else than the reference."""
    return seen.raised is None and deviation(seen.output, expected.output) > SINGLE


def recognise(runs, cases, observed, expected, first):
    """The one known mistake that behaves like the learner's function, or None. runs: {name: what it shows}.

    First choice: the same on every case. Then: the same on the first group that fails. Then: the same wherever the
    learner's function ran at all. A mistake counts only where it shows itself, and only if it is the only one.
    """
    everywhere = range(len(cases))
    # The cases before are right: a mistake that is wrong there already is another one.
    group = [i for i in everywhere if i < first or cases[i].group == cases[first].group]
    ran = [i for i in everywhere if observed[i].raised is None]
    for chosen in (everywhere, group, ran):
        matching = [
            name
            for name, seen in runs.items()
            if all(same_observation(seen[i], observed[i]) for i in chosen)
            and any(shows(seen[i], expected[i]) for i in chosen)
        ]
        if len(matching) == 1:
            return matching[0]
    return None


def recognise_error(runs, observed):
    """The one known mistake that raises on the same cases, in the same words, and elsewhere gives the same; or None.

    For mistakes that are wrong only where they raise: the numbers in torch's words about shapes tell them apart.
    """
    matching = [
        name
        for name, seen in runs.items()
        if all(
            _words(one.raised) == _words(other.raised) and same_observation(one, other)
            for one, other in zip(seen, observed, strict=True)
        )
    ]
    return matching[0] if len(matching) == 1 else None


def _words(raised):
    return raised and (raised.kind, raised.text)


def recognise_gradient(runs, observed, expected, first):
    """The one known mistake with right values and the learner's gradient, or None. runs: with gradients."""
    matching = []
    for name, seen in runs.items():
        values_right = not any(s.raised or s.changed or shows(s, e) for s, e in zip(seen, expected, strict=True))
        if values_right and gradient_deviation(seen[first].gradients, observed[first].gradients) <= SINGLE:
            matching.append(name)
    return matching[0] if len(matching) == 1 else None


def recognise_law(runs, law_broken_by, broken, expected):
    """The one known mistake with right values that breaks the same law first, in the same manner, or None.

    law_broken_by(name): the first law that the mistake breaks and what it raises there, to compare with `broken`.
    """
    matching = []
    for name, seen in runs.items():
        values_right = not any(s.raised or shows(s, e) for s, e in zip(seen, expected, strict=True))
        if values_right and law_broken_by(name) == broken:
            matching.append(name)
    return matching[0] if len(matching) == 1 else None


def one_line(raised):
    """An exception as its kind and the first line of its text."""
    return f"{raised.kind}: {raised.text.strip().splitlines()[0] if raised.text.strip() else '(no message)'}"


def explain_error(raised, name):
    """A learner's exception, with the question that fits the usual causes. name: the function that is asked for."""
    if raised.is_stub:
        return f"it calls `{raised.raised_in}`, which is not written yet. Will you write that one first?"
    if raised.kind == "RecursionError":
        return "it calls itself without end. Which condition should stop the recursion?"
    if raised.kind == "MemoryError":
        return "MemoryError: it takes more memory than there is. Which line makes something so large?"
    if raised.kind == "WrongState":
        return raised.text  # it asks its own question
    text = one_line(raised)
    if "numpy()" in raised.text:
        return f"{text}\nnumpy carries no gradients. Which torch function does the same?"
    if raised.kind == "TypeError" and "() " in raised.text and "argument" in raised.text:
        called = raised.text.split("() ")[0].split(".")  # MultiHeadAttention.forward, say
        if name in called:
            return f"{text}\nDoes the signature still match the one that was given?"
        return f"{text}\nWith which arguments is `{called[-1]}` called, and which does it take?"
    if "view size is not compatible" in raised.text:
        return f"{text}\n`view` reads memory as it lies. What was transposed before, and which method may copy?"
    for words, question in QUESTIONS.items():
        if words in raised.text:
            return f"{text}\n{question}"
    if any(word in raised.text for word in ("shape", "size", "dimension", "index")):
        return f"{text}\nWhich shapes meet on the line that raised it?"
    return f"{text}\nWhich line raises it, and what does it receive in this call?"


def explain_kind(got, want, case):
    """What is wrong with the kind of a result, or None when only its values are.

    None, lists, wrong number of values, their order, dtype, shape, NaN, zeros, an argument handed back.
    """
    if got is None and want is not None:
        return "it returns None. Is there a `return` on every path?"
    got_leaves, want_leaves = leaves(got), leaves(want)
    if len(got_leaves) == len(want_leaves):
        pairs = zip(got_leaves, want_leaves, strict=True)
        got_leaves = [(path, as_number(g, w)) for (path, g), (_, w) in pairs]
    if [_place(pair) for pair in got_leaves] != [_place(pair) for pair in want_leaves]:
        return f"it returns {describe_type(got)} where {describe_type(want)} is expected. What should come out?"
    if isinstance(got, tuple | list) and _in_another_order(tensors(got), tensors(want)):
        return "the results have the right shapes in another order. In which order does the docstring return them?"
    for (path, g), (_, w) in zip(got_leaves, want_leaves, strict=True):
        problem = _explain_leaf(g, w, case)
        if problem:
            return f"{'result' + path + ': ' if path else ''}{problem}"
    return None


def _place(pair):
    """What must agree before values can be compared: where a leaf stands, and whether it is a tensor."""
    path, leaf = pair
    return path, isinstance(leaf, torch.Tensor)


def _in_another_order(got, want):
    """Whether results have the shapes that are wanted, each as often, but not where they are wanted."""
    got, want = [tuple(t.shape) for t in got], [tuple(t.shape) for t in want]
    return got != want and sorted(got) == sorted(want)


def _explain_leaf(got, want, case):
    if not isinstance(got, torch.Tensor):
        return None
    if kind(got) != kind(want):
        return f"its dtype is {str(got.dtype)[6:]}, a {kind(want)} one is expected. Which line makes it {kind(got)}?"
    if got.shape != want.shape:
        return (
            f"its shape is {tuple(got.shape)}, expected {tuple(want.shape)}. "
            "Which axis is missing, left over, or in another place?"
        )
    if deviation(got, want) <= SINGLE:
        return None
    if is_float(got) and not got.isfinite().all():
        bad = int((~got.isfinite()).sum())
        return f"{bad} of {got.numel()} entries are NaN or infinite. Where can 0/0, ∞ − ∞ or an overflow arise?"
    if not got.any():
        zero = "False" if kind(got) == "boolean" else "0"
        return f"every entry is {zero}. Which step takes them all there, or is the result never written into?"
    for argument in tensors((case.args, dict(case.kwargs))):
        if deviation(got, argument) == 0:
            return "an argument comes back unchanged. Is the computed result the one that is returned?"
    return None


def explain_values(got, want):
    """Where the values differ, in the learner's own numbers."""
    for (path, g), (_, w) in zip(leaves(got), leaves(want), strict=True):
        if deviation(g, w) > SINGLE:
            where = describe_difference(torch.as_tensor(g), torch.as_tensor(w))
            grid = small_grid(g)
            shown = f"\nyour result:\n{grid}" if grid else ""
            return f"{'result' + path + ': ' if path else ''}{where}.{shown}\nWhich step turns out otherwise by hand?"
    raise AssertionError("explain_values was asked about equal values")


def explain_gradient(exercise, case, seen, expected):
    """Which argument's gradient is wrong, when all values are right."""
    if seen.detached:
        return (
            "the values are right, but no gradient flows back. "
            "Which line leaves torch's graph (`detach`, `.data`, `.item()`, numpy)?"
        )
    names = [
        name
        for name, value in zip(argument_names(exercise, case), [*case.args, *case.kwargs.values()], strict=True)
        for _ in filter(is_float, tensors(value))
    ]
    for position, name in enumerate(names):
        got = None if seen.gradients is None else seen.gradients[position : position + 1]
        if gradient_deviation(got, expected.gradients[position : position + 1]) > SINGLE:
            return (
                f"the values are right, but the gradient with respect to `{name}` is not. "
                "Which line cuts it (`detach`, `.data`, `.item()`, a copy into a new tensor)?"
            )
    raise AssertionError("explain_gradient was asked about equal gradients")


def break_law(law, function, cases, generator):
    """How `function` breaks a law: (words, kind of an exception or None); (None, None) when it holds.

    An exception breaks a law, but not in the way of a function that runs.
    """
    try:
        return law.broken(function, cases, generator), None
    except Exception as error:  # the function is the learner's, and may raise anything
        raised = tell(error)
        first = raised.text.strip().splitlines()[0] if raised.text.strip() else ""
        return f"it raises {raised.kind}: {first}", raised.kind
