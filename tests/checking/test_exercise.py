"""What an exercise must have, and what goes without saying."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest
import torch

from course_lib.checking import Case, Exercise, Law, Mistake, Outcome, mistake
from course_lib.checking.observe import Observation, Raised
from course_lib.checking.ways import attempt, one_for_each_way


def double(x):
    return 2 * x


def cases(generator):
    for n in (1, 2):
        yield Case(f"{n}", (torch.rand(n, generator=generator),))


EXERCISE = Exercise(name="double", reference=double, cases=cases, mistakes=(), accepts=(), hints=("Twice.",))


def test_a_mistake_asks_a_question_and_has_a_source():
    made = mistake("It is added. What is twice 5? ", source="A001")(double)
    assert made == Mistake("double", double, "It is added. What is twice 5? ", "A001")
    with pytest.raises(ValueError, match="'double': the message must end with a question, got 'It is added.'"):
        mistake("It is added.", source="A001")(double)
    with pytest.raises(TypeError, match="positional"):
        mistake("What is twice 5?", "A001")
    for nothing in ("", "  "):
        with pytest.raises(ValueError, match="'double': give its source"):
            mistake("What is twice 5?", source=nothing)(double)


def test_mistakes_have_names_of_their_own_and_there_is_a_hint():
    made = mistake("What is twice 5?", source="A001")(double)
    other = replace(made, name="other")
    assert replace(EXERCISE, mistakes=(made, other)).mistakes == (made, other)
    with pytest.raises(ValueError, match=r"'double': two mistakes share a name: \['double', 'double', 'other'\]"):
        replace(EXERCISE, mistakes=(made, other, made))
    with pytest.raises(ValueError, match="'double': give at least one hint"):
        replace(EXERCISE, hints=())


def test_many_mistakes_may_have_as_many_names():
    """A number above 256 is no single object in Python."""
    made = mistake("What is twice 5?", source="A001")(double)
    many = tuple(replace(made, name=str(n)) for n in range(300))
    assert len(replace(EXERCISE, mistakes=many).mistakes) == 300


def test_the_cases_of_a_seed_are_the_same_each_time():
    def drawn(seed):
        return [case.args[0].tolist() for case in EXERCISE.draw_cases(seed)]

    assert drawn(3) == drawn(3) != drawn(4) and isinstance(EXERCISE.draw_cases(0), list)


def test_what_is_not_said_of_a_case_and_an_exercise():
    assert Case("it") == Case("it", (), {}, "values", True)
    assert (EXERCISE.minutes, EXERCISE.difficulty, EXERCISE.points, EXERCISE.is_module) == (5, 1, 1, False)
    assert EXERCISE.laws == EXERCISE.forbidden == ()


def test_nothing_of_it_can_be_changed_and_so_it_can_be_remembered():
    made = mistake("What is twice 5?", source="A001")(double)
    for record in (EXERCISE, Case("it"), made, Law("it", double, "Why?"), Outcome("it", "passed"), Raised("it", "so"),
                   Observation()):  # fmt: skip
        with pytest.raises(FrozenInstanceError):
            setattr(record, fields(record)[0].name, 3)


def test_an_attempt_is_what_comes_back_or_the_kind_of_the_exception():
    assert attempt(lambda: 3) == 3 and attempt(lambda: [][0]) == "IndexError"
    with pytest.raises(KeyboardInterrupt):
        attempt(lambda: (_ for _ in ()).throw(KeyboardInterrupt()))


@pytest.mark.parametrize(("does", "broken"), [
    ("raises", ()), ("returns 0", ("past (returns 0)", "past")), ("wraps", ("past (wraps)", "past")),
    ("hangs", ("past",)),
])  # fmt: skip
def test_each_way_to_go_wrong_is_a_law_of_its_own_and_the_last_is_for_all(does, broken):
    """The engine takes the first law that is broken, so the last one is left for the ways that have no name."""
    ways = ("returns 0", "wraps")
    laws = one_for_each_way("past", lambda f: f(), right="raises", ways=ways, where="there it", question="Why?")
    assert [law.name for law in laws] == ["past (returns 0)", "past (wraps)", "past"]
    found = {law.name: law.broken(lambda: "".join(does), [], None) for law in laws}
    assert {name: said for name, said in found.items() if said} == dict.fromkeys(broken, f"there it {does}")
    assert all(law.question == "Why?" for law in laws)
