"""What the README shows and counts is what the course says and has."""

import re

from course_lib import exercises
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
        row = next(line for line in README.splitlines() if f"notebooks/{lesson.name}.ipynb" in line)
        assert lesson.question in row and all(f"`{name}`" in row for name in lesson.exercises)
