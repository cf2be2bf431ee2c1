"""Each exercise is complete, and each lesson says what it must say."""

import re
from collections import Counter
from pathlib import Path

import yaml

from course_lib import exercises
from course_lib.authoring.catalogue import lessons

CONCEPTS = yaml.safe_load(Path(__file__).with_name("concepts.yaml").read_text(encoding="utf-8"))
KNOWN = {anchor for anchors in CONCEPTS.values() for anchor in anchors}
ANCHOR = re.compile(r"<!-- concept: (\S+) -->")


def test_the_header_lists_the_exercises_of_the_lesson(built):
    registered = tuple(exercise.name for exercise in exercises.by_lesson(built.lesson.number))
    assert built.lesson.exercises == registered


def test_every_exercise_belongs_to_a_lesson_once():
    listed = Counter(name for one in lessons() for name in one.exercises)
    assert not [name for name, times in listed.items() if times > 1]


def test_every_exercise_has_an_answer_a_check_and_hints(built):
    roles = {}
    for cell in built.learner.cells:
        if mark := cell.metadata.get("course"):
            roles.setdefault(mark.exercise, []).append(mark.role)
    assert roles == {name: ["answer", "check"] for name in built.lesson.exercises}
    for name in built.lesson.exercises:
        hints = exercises.get(name).hints
        assert hints and all(hint.strip() for hint in hints), f"{name} has no hint"


def test_every_concept_of_the_lesson_has_its_place(built):
    prose = [cell.source for cell in built.learner.cells if cell.cell_type == "markdown"]
    found = {anchor for text in prose for anchor in ANCHOR.findall(text)}
    everywhere = set(re.findall(r"concept:\s*([\w-]+)", built.lesson.source.read_text(encoding="utf-8")))
    number = built.lesson.number
    assert number in CONCEPTS, f"concepts.yaml has no section `{number}:` for this lesson"
    missing = {key: text for key, text in CONCEPTS[number].items() if key not in found}
    assert not missing
    assert everywhere == found, "an anchor is misspelt, or stands outside the prose"
    assert found <= KNOWN, f"not in concepts.yaml: {sorted(found - KNOWN)}"


def test_concepts_are_listed_once():
    assert set(CONCEPTS) == {one.number for one in lessons()}, "a section for each lesson, and no other"
    assert sum(map(len, CONCEPTS.values())) == len(KNOWN)
    assert all(re.fullmatch(rf"(L{number}|E)-[a-z0-9-]+", key) for number, keys in CONCEPTS.items() for key in keys)
