"""What is said of a wrong answer that no known mistake explains: one clear reason, and the question that fits it."""

import pytest
import torch

from course_lib import exercises
from course_lib.checking import Case, Law
from course_lib.checking.diagnosis import (
    QUESTIONS,
    break_law,
    explain_error,
    explain_gradient,
    explain_kind,
    explain_values,
    one_line,
    recognise,
    recognise_error,
    recognise_gradient,
    recognise_law,
    run_mistake,
    shows,
)
from course_lib.checking.observe import Observation, Raised, observe

SOFTMAX = exercises.get("softmax")
SCORES = Case("scores", (torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64),))


def gives(value, **more):
    return Observation(output=torch.tensor(value, dtype=torch.float64), **more)


def breaks(kind="ValueError", text="no"):
    return Observation(raised=Raised(kind, text))


@pytest.mark.parametrize(("text", "line"), [
    ("", "ValueError: (no message)"), ("  \n ", "ValueError: (no message)"), ("\n one\ntwo", "ValueError: one"),
])  # fmt: skip
def test_an_exception_in_one_line(text, line):
    assert one_line(Raised("ValueError", text)) == line


SIGNATURE = "Does the signature still match the one that was given?"


@pytest.mark.parametrize(("kind", "text", "said"), [
    ("NotImplementedError", "your code here",
     "it calls `cell`, which is not written yet. Will you write that one first?"),
    ("RecursionError", "maximum", "it calls itself without end. Which condition should stop the recursion?"),
    ("MemoryError", "", "MemoryError: it takes more memory than there is. Which line makes something so large?"),
    ("WrongState", "Which name differs?", "Which name differs?"),
    ("RuntimeError", "Can't call numpy() on it", "numpy carries no gradients. Which torch function does the same?"),
    ("TypeError", "softmax() missing 1 argument", SIGNATURE),
    ("TypeError", "Net.softmax() takes 1 argument", SIGNATURE),
    ("TypeError", "Net.shift() takes 2 arguments", "With which arguments is `shift` called, and which does it take?"),
    ("ValueError", "softmax() has an argument", "Which line raises it, and what does it receive in this call?"),
    ("TypeError", "softmax() is odd", "Which line raises it, and what does it receive in this call?"),
    ("TypeError", "an argument is odd", "Which line raises it, and what does it receive in this call?"),
    ("RuntimeError", "view size is not compatible with input",
     "`view` reads memory as it lies. What was transposed before, and which method may copy?"),
    *[("RuntimeError", f"x {words} y", question) for words, question in QUESTIONS.items()],
    *[("ValueError", f"a {word} b", "Which shapes meet on the line that raised it?")
      for word in ("shape", "size", "dimension", "index")],
])  # fmt: skip
def test_an_exception_comes_with_the_question_that_fits(kind, text, said):
    raised = Raised(kind, text, "cell")
    message = explain_error(raised, "softmax")
    assert message.endswith(said)
    own_words = kind in ("NotImplementedError", "RecursionError", "MemoryError", "WrongState")
    assert message == (said if own_words else f"{one_line(raised)}\n{said}")


# ---- the kind of a result

PAIR = (torch.ones(2), torch.ones(3))


@pytest.mark.parametrize(("got", "want", "said"), [
    (None, torch.ones(2), "it returns None. Is there a `return` on every path?"), (None, None, None),
    (torch.ones(2), PAIR, "it returns a floating tensor of shape (2,) where a tuple of 2"),
    ((PAIR[0], 3), PAIR, "it returns a tuple of 2 (a floating tensor of shape (2,), an int) where"),
    (PAIR[::-1], PAIR, "in another order"), ((PAIR[1], PAIR[1]), PAIR, "result[0]: its shape is (3,), expected (2,)."),
    ((PAIR[0], PAIR[1].int()), PAIR, "result[1]: its dtype is int32, a floating one is expected."),
    (torch.ones(2).bool(), torch.ones(2).long(), "its dtype is bool, a integer one is expected. Which line makes it"),
    (torch.ones(1, 2), torch.ones(2), "its shape is (1, 2), expected (2,). Which axis"),
    (torch.tensor([1.0, float("nan"), float("inf")]), torch.ones(3), "2 of 3 entries are NaN or infinite."),
    (torch.zeros(2), torch.ones(2), "every entry is 0. Which step"), (torch.zeros(2), torch.zeros(2), None),
    (torch.zeros(2).bool(), torch.ones(2).bool(), "every entry is False. Which step"),
    (torch.tensor(2.0), 2.0, None), (2.0, torch.tensor(2.0), "it returns a float where a floating tensor"),
    (torch.tensor([float("inf")]), torch.tensor([float("inf")]), None), (torch.ones(2), 2 * torch.ones(2), None),
    (3, 4, None),
])  # fmt: skip
def test_what_is_wrong_with_the_kind_is_said_before_the_values(got, want, said):
    problem = explain_kind(got, want, SCORES)
    assert problem.startswith((said, f"the results have the right shapes {said}")) if said else problem is None


def test_an_argument_handed_back_is_seen_wherever_it_came_from():
    first, second = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    case = Case("two", (first,), {"other": second, "one": torch.ones(3)})
    for argument in (first, second):
        assert "an argument comes back unchanged" in explain_kind(argument.clone(), torch.ones(2), case)
    assert explain_kind(first + 1e-9, torch.ones(2), case) is None, "nearly is not the same"
    assert explain_kind(first * 2, torch.ones(2), case) is None


def test_the_first_result_that_differs_is_explained():
    want = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    text = explain_values((want[0], want[1] + torch.tensor([0.0, 2.0])), want)
    assert text.startswith("result[1]: 1 of 2 entries differ; at index [1] your value is 6")
    assert text.endswith(".\nyour result:\n3  6\nWhich step turns out otherwise by hand?")
    large = torch.ones(40)
    text = explain_values(large * 2, large)
    assert text.startswith("40 of 40 entries differ; at index [0] your value is 2; your values are too large")
    assert "your result" not in text and text.endswith(" on the whole.\nWhich step turns out otherwise by hand?")
    with pytest.raises(AssertionError, match="equal values"):
        explain_values(want, want)


# ---- gradients


def test_the_argument_whose_gradient_is_wrong_is_named():
    """An argument may hold several tensors, or none that carries a gradient; a missing gradient counts as zeros."""
    exercise = exercises.get("additive_score")
    case = Case(
        "small", ([torch.ones(2), torch.ones(1)], torch.tensor([3]), torch.ones(2), torch.ones(2), torch.ones(2))
    )
    right = tuple(torch.full((size,), 5.0) for size in (2, 1, 2, 2, 2))
    expected = Observation(gradients=right)
    for position, name in enumerate(("query", "query", "W_q", "W_k", "v")):
        wrong = tuple(g + 1 if i == position else g for i, g in enumerate(right))
        text = explain_gradient(exercise, case, Observation(gradients=wrong), expected)
        assert text.startswith(f"the values are right, but the gradient with respect to `{name}` is not.")
    assert "to `query` is not" in explain_gradient(exercise, case, Observation(), expected)
    assert "no gradient flows back" in explain_gradient(exercise, case, Observation(detached=True), expected)
    with pytest.raises(AssertionError, match="equal gradients"):
        explain_gradient(exercise, case, expected, expected)


# ---- which known mistake it is


def test_a_mistake_is_run_with_gradients_only_where_they_are_asked_for():
    for asked in (False, True):
        seen = run_mistake(torch.exp, [SCORES, SCORES], 3, gradient=asked)
        assert len(seen) == 2 and all((one.gradients is not None) is asked for one in seen)
    for i, one in enumerate(seen):
        assert torch.equal(one.gradients[0], observe(torch.exp, SCORES, 3 + i).gradients[0]), "each has its direction"


def test_an_observation_shows_a_mistake_by_another_value_alone():
    assert shows(gives([1.0]), gives([2.0])) and not shows(gives([1.0]), gives([1.0]))
    assert not shows(breaks(), gives([1.0]))


CASES = [Case("a", group="one"), Case("b", group="".join("one")), Case("c", group="two")]  # equal, and another object
RIGHT = [gives([0.0])] * 3


def named(observed, first, **runs):
    return recognise(runs, CASES, observed, RIGHT, first)


def test_the_same_on_every_case_goes_before_the_same_on_a_group():
    one, two, zero = gives([1.0]), gives([2.0]), gives([0.0])
    assert named([one, one, two], 0, all=[one, one, two], group=[one, one, one]) == "all"
    assert named([one, one, two], 0, group=[one, one, one], no=[two, two, two]) == "group"
    assert named([one, one, two], 0, group=[one, one, one], other=[one, one, zero]) is None, "two agree on the group"
    assert named([zero, zero, two], 2, late=[zero, zero, two], early=[one, zero, two]) == "late"
    assert named([zero, zero, two], 2, early=[one, zero, two]) is None, "it is wrong where the answer is right"
    assert named([zero, one, two], 1, early=[one, one, two]) is None, "the whole group is compared"
    assert named([one, two, two], 0, half=[one, one, two]) is None, "on both sides of the first that fails"


def test_where_the_answer_ran_it_must_show_the_mistake():
    one, zero = gives([1.0]), gives([0.0])
    assert named([breaks(), one, one], 0, some=[one, one, one]) == "some"
    assert named([breaks(), zero, zero], 0, some=[one, zero, zero]) is None, "there it shows nothing"
    assert named([breaks(), one, one], 0, some=[one, one, one], same=[zero, one, one]) is None
    assert named([breaks()] * 3, 0, some=[breaks()] * 3) is None, "an exception alone is no value"


def test_an_exception_is_a_mistake_s_by_kind_and_text_and_by_what_ran():
    one, two = gives([1.0]), gives([2.0])
    seen = {"it": [breaks(), one]}
    assert recognise_error(seen, [breaks(), one]) == "it"
    for other in ([breaks("TypeError"), one], [breaks(text="yes"), one], [breaks(), two], [one, breaks()], [one, one]):
        assert recognise_error(seen, other) is None
    assert recognise_error({**seen, "twin": seen["it"]}, [breaks(), one]) is None


def test_a_gradient_is_a_mistake_s_if_its_values_are_right():
    gradient, other = (torch.ones(1),), (torch.zeros(1),)
    expected = [gives([1.0]), gives([2.0])]

    def runs(first, gradients=gradient, **more):
        return [gives([first], **more), gives([2.0], gradients=gradients)]

    observed = runs(1.0)

    def found(**seen):
        return recognise_gradient(seen, observed, expected, 1)

    assert found(it=runs(1.0)) == "it" and found(it=runs(1.0), else_=runs(1.0, other)) == "it"
    assert found(it=runs(1.0), twin=runs(1.0)) is None
    raises = [breaks(), gives([2.0], gradients=gradient)]
    for seen in (runs(3.0), runs(1.0, other), runs(1.0, changed=("[0]",)), raises):
        assert found(it=seen) is None


def test_a_broken_law_is_a_mistake_s_if_its_values_are_right_and_it_breaks_it_in_the_same_manner():
    broken = ("law", None)
    by = {"it": broken, "other": ("other law", None), "raises": ("law", "KeyError"), "twin": broken, "wrong": broken}

    def found(**seen):
        return recognise_law(seen, by.get, broken, [gives([1.0])])

    right = [gives([1.0])]
    assert found(it=right, other=right, raises=right) == "it" and found(other=right) is None
    assert (
        found(wrong=[gives([2.0])]) is None and found(wrong=[breaks()]) is None and found(it=right, twin=right) is None
    )


def test_how_a_law_is_broken_is_told_from_an_exception():
    def law(broken):
        return Law("a law", broken, "Which?")

    def raises(text):
        def broken(function, cases, generator):
            raise KeyError(text)

        return law(broken)

    assert break_law(law(lambda *given: None), None, [], None) == (None, None)
    assert break_law(law(lambda *given: "so"), None, [], None) == ("so", None)
    assert break_law(raises("one\ntwo"), None, [], None) == (r"it raises KeyError: 'one\ntwo'", "KeyError")
    assert break_law(law(lambda *given: [].pop()), None, [], None)[0] == "it raises IndexError: pop from empty list"

    def in_two_lines(*given):
        raise ValueError("one\ntwo")

    assert break_law(law(in_two_lines), None, [], None) == ("it raises ValueError: one", "ValueError")

    def silent(*given):
        raise ValueError

    assert break_law(law(silent), None, [], None) == ("it raises ValueError: ", "ValueError")
