"""`assignment.json`: made, written, read again, found; and what is wrong with one is said."""

import json
import math

import pytest

from course_lib import exercises
from course_lib.authoring import catalogue
from course_lib.grading import assignment as assignments
from course_lib.grading.assignment import AssignmentError, find, make, read, write

FIVE = "05_self_attention_and_masks"


def test_by_default_all_exercises_count_with_their_own_points():
    made = make(["05"])
    assert made.name == FIVE
    (part,) = made.parts
    lesson = catalogue.lesson(5)
    assert part.lesson == FIVE and tuple(part.points) == lesson.exercises
    assert part.points == {name: exercises.get(name).points for name in lesson.exercises}
    assert made.diagnoses and made.solution


def test_lessons_and_exercises_stand_in_the_order_of_the_course():
    made = make([5, "00", "self_attention_and_masks"], ["causal_mask", "softmax", "padding_mask"], {"softmax": 3})
    assert [part.lesson for part in made.parts] == ["00_start_here", FIVE]
    assert made.parts[0].points == {"softmax": 3.0}
    assert list(made.parts[1].points) == ["padding_mask", "causal_mask"]
    assert made.name == f"00_start_here-{FIVE}"


def test_a_name_that_would_be_too_long_for_a_folder_is_made_of_the_numbers():
    made = make([one.number for one in catalogue.lessons()])
    assert made.name.startswith("lessons_00_01_02") and len(made.name) < 100


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"exercises": ["causal_mas"]}, "did you mean causal_mask"),
        ({"exercises": ["qqq"]}, "there are: masked_attention"),
        ({"exercises": ["softmax"]}, "softmax is an exercise of 00_start_here, which is not in this assignment"),
        ({"exercises": []}, f"no exercise of {FIVE} is chosen"),
        ({"points": {"causal_mask": -1}}, "points of causal_mask must be a number of at least 0, got -1"),
        ({"points": {"causal_mask": math.nan}}, "points of causal_mask"),
        ({"points": {"causal_mask": math.inf}}, "points of causal_mask"),
        ({"points": {"causal_mask": True}}, "points of causal_mask"),
        ({"points": {"causal_mask": "3"}}, "points of causal_mask"),
        ({"points": {"causal_masc": 1}}, "did you mean causal_mask"),
        ({"exercises": ["causal_mask"], "points": {"padding_mask": 1}}, "points are given for padding_mask"),
        ({"name": "a/b"}, "'a/b'"),
        ({"name": "a+b"}, "'a+b'"),
        ({"name": ".."}, "'..'"),
        ({"name": " a"}, "' a'"),
        ({"name": "a*"}, "'a*'"),
        ({"name": ""}, "''"),
        ({"name": "x" * 101}, "at most 100"),
    ],
)
def test_what_cannot_be_is_named(options, said):
    with pytest.raises(AssignmentError) as caught:
        make([5], **options)
    assert said in str(caught.value)


def test_unknown_lessons_are_named_and_none_is_too_few():
    with pytest.raises(catalogue.UnknownLesson, match="there is no lesson"):
        make(["77"])
    with pytest.raises(AssignmentError, match="at least one lesson"):
        make([])


@pytest.mark.parametrize("name", ["hw1", "과제 1", "Problem Set 2", "a.b-c_d"])
def test_written_and_read_it_is_the_same(name, tmp_path):
    made = make([0, 5], None, {"softmax": 0, "causal_mask": 2.5}, name, diagnoses=False, solution=False)
    path = write(made, tmp_path / "new" / name)
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 1
    before = path.read_bytes()
    for place in (path, path.parent):
        again = read(place)
        assert again == made and [list(part.points) for part in again.parts] == [list(p.points) for p in made.parts]
    assert write(made, path.parent).read_bytes() == before


def damaged(change):
    data = json.loads(assignments.to_text(make([5], name="hw1")))
    change(data)
    return json.dumps(data)


BROKEN = {
    "no JSON": "{",
    "a list": "[]",
    "nothing": "",
    "another version": damaged(lambda data: data.update(version=2)),
    "no version": damaged(lambda data: data.pop("version")),
    "no parts": damaged(lambda data: data.pop("parts")),
    "parts are none": damaged(lambda data: data.update(parts=[])),
    "parts are a text": damaged(lambda data: data.update(parts="x")),
    "an unknown key": damaged(lambda data: data.update(more=1)),
    "an unknown lesson": damaged(lambda data: data["parts"][0].update(lesson="99_x")),
    "the same lesson twice": damaged(lambda data: data["parts"].append(data["parts"][0])),
    "an unknown exercise": damaged(lambda data: data["parts"][0]["points"].update(qqq=1)),
    "of another lesson": damaged(lambda data: data["parts"][0]["points"].update(softmax=1)),
    "no exercise": damaged(lambda data: data["parts"][0].update(points={})),
    "points are a list": damaged(lambda data: data["parts"][0].update(points=["causal_mask"])),
    "negative points": damaged(lambda data: data["parts"][0]["points"].update(causal_mask=-1)),
    "no number": damaged(lambda data: data["parts"][0]["points"].update(causal_mask=math.nan)),
    "a name that leads out": damaged(lambda data: data.update(name="../x")),
    "a name that is a number": damaged(lambda data: data.update(name=1)),
    "diagnoses are a text": damaged(lambda data: data.update(diagnoses="no")),
    "nested deeply": "[" * 100_000,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_refused_by_name(kind, tmp_path):
    (tmp_path / "assignment.json").write_text(BROKEN[kind], encoding="utf-8")
    with pytest.raises(AssignmentError, match="assignment.json in .* is no assignment of this course"):
        read(tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "assignment.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AssignmentError, match="assignment.json"):
        read(tmp_path)


def test_one_that_is_missing_is_an_os_error(tmp_path):
    with pytest.raises(OSError):
        read(tmp_path)


# --- where it is found


@pytest.fixture
def course(tmp_path):
    """A course with one assignment in nbgrader's layout, and a submission."""
    root = tmp_path / "teaching" / "course"
    for step in ("source", "release"):
        write(make([5], ["causal_mask"], name="hw1"), root / step / "hw1")
    (root / "submitted" / "ada" / "hw1").mkdir(parents=True)
    return root


@pytest.mark.parametrize(
    "place", [".", "submitted", "submitted/ada", "submitted/ada/hw1", "source/hw1", "release/hw1", "hw1.zip", "back"]
)
def test_it_is_found_from_anywhere_in_a_course(course, place):
    (course / "hw1.zip").touch()
    (course / "back").mkdir()
    assert find(course / place).name == "hw1"


def test_of_several_the_one_that_the_path_names_is_taken(course):
    write(make([0], name="hw2"), course / "source" / "hw2")
    assert find(course / "submitted/ada/hw1").name == "hw1"
    (course / "hw2.zip").touch()
    assert find(course / "hw2.zip").name == "hw2"
    with pytest.raises(AssignmentError, match="several assignments.*--assignment: source/hw1, source/hw2"):
        find(course / "submitted")


def test_a_file_that_a_student_handed_in_is_not_taken(course):
    forged = make([5], ["causal_mask"], {"causal_mask": 100}, "hw1")
    write(forged, course / "submitted/ada/hw1")
    write(forged, course / "submitted")
    for place in ("submitted/ada/hw1", "submitted/ada", "submitted"):
        assert find(course / place).parts[0].points == {"causal_mask": 1.0 * exercises.get("causal_mask").points}


def test_without_a_course_it_lies_in_the_folder_or_above(tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    assert find(folder) is None and find(tmp_path / "nowhere") is None
    write(make([5], name="above"), tmp_path / "a")
    assert find(folder).name == "above" and find(folder / "some.zip").name == "above"
    write(make([5], name="here"), folder)
    assert find(folder).name == "here"
