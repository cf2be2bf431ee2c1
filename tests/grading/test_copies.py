"""Near-copies are found, whether renamed, changed or in a ring; an honest class of three-line answers stays quiet."""

import inspect
import random
import textwrap
import time

import pytest

from course_lib import exercises
from course_lib.authoring.catalogue import lessons
from course_lib.grading.records import Mark, Report
from course_lib.grading.reporting.answer_form import form_of
from course_lib.grading.reporting.copies import near_copies

LESSON_OF = {name: lesson.name for lesson in lessons() for name in lesson.exercises}
OWN = """def softmax(scores, dim=-1):
    # my cat says that huge numbers need a diet before exp
    hungry = scores - scores.max(dim=dim, keepdim=True).values
    fed = hungry.exp()
    return fed / fed.sum(dim=dim, keepdim=True)
"""
LONG = """def beam_search(step, start, end, width, max_length):
    porridge = [(0.0, [start], False)]
    for spoon in range(max_length):
        bowls = []
        for sugar, crumbs, over in porridge:
            if over:
                bowls.append((sugar, crumbs, over))
                continue
            tasted = torch.log_softmax(step(torch.tensor(crumbs)), dim=-1)
            for berry, sweetness in enumerate(tasted.tolist()):
                bowls.append((sugar + sweetness, crumbs + [berry], berry == end))
        porridge = sorted(bowls, key=lambda bowl: -bowl[0] / len(bowl[1]))[:width]
        if all(over for sugar, crumbs, over in porridge):
            break
    return torch.tensor(porridge[0][1]), porridge[0][0]
"""


def class_of(answers, exercise="softmax"):
    """A report a student; answers: {student: source}."""
    return [
        Report(student, marks=(Mark(exercise, LESSON_OF[exercise], 1, 1, "passed", answer=source),))
        for student, source in answers.items()
    ]


def source_of(function, name):
    """A version of an exercise as a student would hand it in."""
    text = textwrap.dedent(inspect.getsource(function))
    start = max(0, min(found for found in (text.find("\ndef "), text.find("\nclass "), len(text)) if found >= 0) + 1)
    text = text[start:] if text.startswith("@mistake(") else text
    return text.replace(f"def {function.__name__}", f"def {name}").replace(
        f"class {function.__name__}", f"class {name}"
    )


def honest_softmax(generator):
    """Three lines as anybody may write them: names and comments from what is usual."""
    names = ["e", "exp", "exps", "exp_scores", "numerator", "num", "weights", "z", "shifted_exp", "top", "unnormalized"]
    comments = [
        "",
        "    # subtract the max for numerical stability\n",
        "    # stable softmax\n",
        "    # avoid overflow\n",
    ]
    shifts = [
        "scores - scores.max(dim=dim, keepdim=True).values", "scores - scores.max(dim, keepdim=True)[0]",
        "scores - torch.amax(scores, dim, keepdim=True)", "scores - scores.amax(dim=dim, keepdim=True)",
    ]  # fmt: skip
    shifted, powers = (
        generator.sample(["shifted", "x", "s", "centered", "diff", "stable", "scores", "y", "logits"], 1),
        "",
    )
    powers = generator.choice(names)
    lines = f"    {shifted[0]} = {generator.choice(shifts)}\n    {powers} = torch.exp({shifted[0]})\n"
    return (
        "def softmax(scores, dim=-1):\n" + generator.choice(comments) + lines
        + f"    return {powers} / {powers}.sum(dim=dim, keepdim=True)\n"
    )  # fmt: skip


@pytest.mark.parametrize("size", [2, 8, 30, 300])
def test_an_honest_class_stays_quiet(size):
    generator = random.Random(size)
    answers = {f"s{i:03}": honest_softmax(generator) for i in range(size)}
    if size == 300:
        assert len(set(answers.values())) < size  # some are the same to the letter
    assert near_copies(class_of(answers)) == []


def test_no_two_versions_of_an_exercise_count_as_copies():
    """References aside, all right and wrong answers of the course, each as if a student's: no pair of them is one."""
    for name in exercises.names():
        exercise = exercises.get(name)
        versions = [*exercise.accepts, *(mistake.wrong for mistake in exercise.mistakes)]
        answers = {f"{i:03}": source_of(function, name) for i, function in enumerate(versions)}
        assert near_copies(class_of(answers, name)) == [], name


def test_a_short_answer_is_a_copy_only_with_the_writer_s_own_words():
    (found,) = near_copies(class_of({"kim": OWN, "lee": OWN, "park": honest_softmax(random.Random(0))}))
    assert (found.exercise, found.students, found.of_course, found.how) == (
        "softmax",
        ("kim", "lee"),
        False,
        "the same code",
    )
    assert "comment “my cat says that huge numbers need a diet before exp”" in found.shared
    assert found.sources == (("kim", OWN), ("lee", OWN))
    bare = (
        OWN.replace("hungry", "shifted")
        .replace("fed", "exps")
        .replace("    # my cat says that huge numbers need a diet before exp\n", "")
    )
    assert near_copies(class_of({"kim": bare, "lee": bare})) == []


def test_a_renamed_copy_and_a_changed_one_are_found():
    renamed = LONG
    for i, name in enumerate(["porridge", "spoon", "bowls", "sugar", "crumbs", "over", "tasted", "berry", "sweetness"]):
        renamed = renamed.replace(name, f"variable_{i}")
    changed = LONG.replace("            break\n", "            return torch.tensor(porridge[0][1]), porridge[0][0]\n")
    assert form_of(renamed, "beam_search").text == form_of(LONG, "beam_search").text
    (found,) = near_copies(class_of({"a": LONG, "b": renamed}, "beam_search"))
    assert found.how == "the same code, other names"
    (found,) = near_copies(class_of({"a": LONG, "b": changed}, "beam_search"))
    assert found.how == "nearly the same code" and "name `porridge`" in found.shared


def test_a_ring_is_one_group_in_a_large_class():
    generator = random.Random(1)
    answers = {f"s{i:03}": honest_softmax(generator) for i in range(270)} | {f"t{i:02}": OWN for i in range(30)}
    (found,) = near_copies(class_of(answers))
    assert found.students == tuple(f"t{i:02}" for i in range(30))


def test_the_course_s_solution_is_recognised_where_nobody_writes_it_by_chance():
    long, short = exercises.get("beam_search").reference, exercises.get("softmax").reference
    (found,) = near_copies(class_of({"a": source_of(long, "beam_search")}, "beam_search"))
    assert found.of_course and found.students == ("a",) and found.sources[1][0] == "the course's solution"
    assert near_copies(class_of({"a": source_of(short, "softmax"), "b": source_of(short, "softmax")})) == []


def test_stubs_and_unreadable_answers_are_no_copies():
    stub = "def softmax(scores, dim=-1):\n    # a comment that is long enough to count\n    raise NotImplementedError"
    reports = class_of({"a": stub, "b": stub})
    untouched = [
        Report(one.student, marks=(Mark("softmax", "", 1, 0, "not attempted", answer=stub),)) for one in reports
    ]
    assert near_copies(untouched) == []
    for source in ("def softmax(:", "\0", "", "(" * 3_000, "x = " + "-" * 40_000 + "1", "\ud800"):
        assert near_copies(class_of({"a": source, "b": source})) == []


@pytest.mark.parametrize("name", ["nothing_of_the_course"])
def test_an_exercise_that_the_course_lacks(name):
    source = OWN.replace("softmax", name)
    reports = [Report(one, marks=(Mark(name, "99_none", 1, 1, "passed", answer=source),)) for one in "ab"]
    assert [found.students for found in near_copies(reports)] == [("a", "b")]


def test_a_class_of_300_with_ten_exercises_takes_seconds():
    generator = random.Random(2)
    names = [name for name in exercises.names() if not exercises.get(name).is_module][:10]
    reports, words = [], ["".join(generator.choices("aeioukmnt", k=6)) for _ in range(80)]
    for i in range(300):
        marks = []
        for name in names:
            exercise = exercises.get(name)
            pool = [exercise.reference, *exercise.accepts, *(mistake.wrong for mistake in exercise.mistakes)]
            own = f"    # of student {generator.choice(words)} with words\n    my_{generator.choice(words)} = 1\n"
            answer = source_of(generator.choice(pool), name) + own
            marks.append(Mark(name, LESSON_OF[name], 1, 1, "passed", answer=answer))
        reports.append(Report(f"s{i:03}", marks=tuple(marks)))
    start = time.process_time()
    first = near_copies(reports)
    assert time.process_time() - start < 10
    assert near_copies(list(reversed(reports))) == first
