"""What the README shows and counts is what the course says and has."""

import json
import re

from course_lib import bench_command, exercises
from course_lib.authoring.catalogue import lessons, repo_root
from course_lib.checking import examine

README = (repo_root() / "README.md").read_text(encoding="utf-8")


def encode(cell, inputs, lengths, state):
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t], state)
    return state


def test_the_diagnosis_shown_is_the_one_given():
    assert "\n".join(examine(exercises.get("encode"), encode).lines()) in README


def test_the_mistakes_are_counted():
    count = sum(len(exercises.get(name).mistakes) for name in exercises.names())
    assert re.findall(r"\((\d+) so far\)", README) == [str(count)]


def test_every_lesson_is_listed_with_its_question_and_exercises():
    for lesson in lessons():
        row = next((line for line in README.splitlines() if f"notebooks/{lesson.name}.ipynb" in line), None)
        assert row, f"the table of lessons has no row for {lesson.name}"
        assert lesson.question in row and all(f"`{name}`" in row for name in lesson.exercises)


def test_the_speeds_shown_are_those_measured():
    """Every target, met or missed; `course bench NAMES --json > benchmarks/measured.json` measures again."""
    measured = json.loads((repo_root() / "benchmarks" / "measured.json").read_text(encoding="utf-8"))
    assert bench_command.markdown(measured["rows"]) in README
    assert measured["machine"] in README and bench_command.closing(measured["rows"]) in README
