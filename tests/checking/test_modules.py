"""A class is judged by loading named reference weights into it, here and in another process."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from course_lib.checking import FAILED, WRONG, Case, Exercise, examine, mistake
from course_lib.checking.modules import WrongState, as_function
from course_lib.checking.worker import Worker


class Scorer(nn.Module):
    """v^T tanh(W x)."""

    def __init__(self, d_in, d_hidden):
        super().__init__()
        self.W = nn.Linear(d_in, d_hidden)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, x):
        return self.v(torch.tanh(self.W(x))).squeeze(-1)


def cases(generator):
    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    state = {"W.weight": draw(5, 3), "W.bias": draw(5), "v.weight": draw(1, 5)}
    yield Case("two rows", ({"d_in": 3, "d_hidden": 5}, state, (draw(2, 3),)))


class NoTanh(Scorer):
    def forward(self, x):
        return self.v(self.W(x)).squeeze(-1)


class Frozen(Scorer):
    def forward(self, x):
        return torch.tanh(self.W(x)) @ self.v.weight.detach().squeeze(0)


class OtherNames(nn.Module):
    def __init__(self, d_in, d_hidden):
        super().__init__()
        self.U = nn.Linear(d_in, d_hidden)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, x):
        return self.v(torch.tanh(self.U(x))).squeeze(-1)


class WrongSizes(Scorer):
    def __init__(self, d_in, d_hidden):
        super().__init__(d_hidden, d_in)


EXERCISE = Exercise(
    name="Scorer", reference=Scorer, cases=cases, accepts=(), hints=("Look at W.",), is_module=True,
    mistakes=(mistake("tanh is missing. What bounds the features?", source="A019")(NoTanh),),
)  # fmt: skip


class WithDropout(Scorer):
    def forward(self, x):
        return super().forward(nn.functional.dropout(x, 0.5, self.training))


def test_a_class_is_judged_in_evaluation_mode_unless_a_case_asks_for_training():
    """Dropout is off; random streams are never compared."""
    assert examine(EXERCISE, WithDropout).passed
    seen = []

    class Notes(Scorer):
        def forward(self, x):
            seen.append(self.training)
            return super().forward(x)

    init, state, args = next(iter(cases(torch.Generator()))).args
    for training in (False, True):
        as_function(Notes)(init, {name: value.float() for name, value in state.items()}, (args[0].float(),), training)
    assert seen == [False, True]


class Pair(nn.Module):
    """B tanh(A x), two layers of one size; an activation that goes by two names learns nothing and may do so."""

    def __init__(self, d):
        super().__init__()
        self.A, self.B = nn.Linear(d, d), nn.Linear(d, d)
        self.inner = self.bend = nn.Tanh()

    def forward(self, x):
        return self.B(self.bend(self.A(x)))


def pair_cases(generator):
    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    state = {"A.weight": draw(3, 3), "A.bias": draw(3), "B.weight": draw(3, 3), "B.bias": draw(3)}
    yield Case("two rows", ({"d": 3}, state, (draw(2, 3),)))


PAIR = Exercise(
    name="Pair", reference=Pair, cases=pair_cases, accepts=(), mistakes=(), hints=("Two layers.",), is_module=True
)


class OneLayer(Pair):
    def __init__(self, d):
        super().__init__(d)
        self.A, self.B = [nn.Linear(d, d)] * 2


class OneWeight(Pair):
    def __init__(self, d):
        super().__init__(d)
        self.B.weight = self.A.weight


def find(kind):
    return {"right": Scorer, "no_tanh": NoTanh, "one_layer": OneLayer}[kind]


def test_a_class_passes_and_a_known_mistake_is_named():
    assert examine(EXERCISE, Scorer).passed
    assert examine(EXERCISE, NoTanh).mistake == "NoTanh"


def test_a_parameter_without_its_gradient_is_noticed():
    outcome = examine(EXERCISE, Frozen)
    assert outcome.status == WRONG and outcome.law == "gradient"


def test_other_parameter_names_and_sizes_are_said():
    outcome = examine(EXERCISE, OtherNames)
    assert outcome.status == FAILED and "W.bias" in outcome.message and "U.bias" in outcome.message
    assert outcome.message.endswith("Which name or bias differs?"), "one question is enough"
    assert "expected shape" in examine(EXERCISE, WrongSizes).message


@pytest.mark.parametrize(
    ("answer", "said"),
    [(OneLayer, "A and B are one and the same layer"), (OneWeight, "A.weight and B.weight are one and the same param")],
)
def test_a_layer_with_two_names_is_said(answer, said):
    assert examine(PAIR, Pair).passed
    outcome = examine(PAIR, answer)
    assert outcome.status == FAILED and outcome.message.startswith(said)
    assert "functional_call" not in outcome.message and outcome.message.count("?") == 1


class KeepsASign(Scorer):
    """A buffer that is not in the state: a table that the constructor computes, say."""

    def __init__(self, d_in, d_hidden):
        super().__init__(d_in, d_hidden)
        self.register_buffer("sign", torch.ones(()), persistent=False)

    def forward(self, x):
        return self.sign * super().forward(x)


def test_a_buffer_that_is_not_in_the_state_is_the_learner_s_own_matter():
    assert examine(EXERCISE, KeepsASign).passed


def test_what_is_wrong_with_a_state_is_told_by_name():
    init, state, args = next(iter(cases(torch.Generator()))).args
    state = {name: value.float() for name, value in state.items()}
    assert as_function(Scorer).__name__ == "Scorer"
    without = {name: value for name, value in state.items() if name != "W.bias"}
    for wrong in (without, {**state, "u": torch.ones(1)}):
        said = f"states the parameters {sorted(wrong)}, yours has {sorted(state)}"
        with pytest.raises(WrongState) as error:
            as_function(Scorer)(init, wrong, args)
        assert said in str(error.value)
    with pytest.raises(WrongState, match=r"parameter v.weight: expected shape \(5, 1\), yours has \(1, 5\)"):
        as_function(Scorer)(init, {**state, "v.weight": torch.ones(5, 1)}, args)


class ThreeNames(Pair):
    def __init__(self, d):
        super().__init__(d)
        self.A = nn.Linear(d, d)
        self.B = self.C = self.A


def test_all_the_names_of_one_layer_are_said():
    state = {f"{name}.weight": torch.ones(2, 2) for name in "ABC"} | {f"{name}.bias": torch.ones(2) for name in "ABC"}
    with pytest.raises(WrongState, match="^A, B and C are one and the same layer"):
        as_function(ThreeNames)({"d": 2}, state, (torch.ones(1, 2),))


def test_a_case_in_training_mode_can_be_the_one_that_fails():
    def in_training(generator):
        for case in cases(generator):
            yield replace(case, label="in training", kwargs={"training": True})

    class OnlyInTraining(Scorer):
        def forward(self, x):
            return super().forward(x) + (1.0 if self.training else 0.0)

    exercise = replace(EXERCISE, cases=in_training)
    outcome = examine(exercise, OnlyInTraining)
    assert outcome.status == WRONG and "training=True" in outcome.where


def test_a_class_in_another_process_gets_the_same_verdict():
    with Worker("tests.checking.test_modules:find") as worker:
        assert examine(EXERCISE, worker.load("right", is_module=True)).passed
        assert examine(EXERCISE, worker.load("no_tanh", is_module=True)).mistake == "NoTanh"
        outcome = examine(PAIR, worker.load("one_layer", is_module=True))
        assert outcome.message == examine(PAIR, OneLayer).message
