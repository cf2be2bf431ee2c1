import pytest

from course_lib.authoring.catalogue import SourceError, UnknownLesson, lesson, lessons

from .lesson_source import HEADER, make_lesson, write_lesson


def test_a_lesson_is_found_by_number_and_name(tmp_path):
    found = make_lesson(tmp_path)
    assert found.number == 7 and found.exercises == ("one_of",) and found.minutes == 5
    assert found.notebook == tmp_path / "notebooks" / "07_small.ipynb"
    assert all(lesson(key, tmp_path) == found for key in (7, "7", "07", "small", "07_small"))


@pytest.mark.parametrize("key", ["07_smal", "smell", 8, "", "-1", None])
def test_an_unknown_lesson_is_told_with_the_nearest_names(tmp_path, key):
    write_lesson(tmp_path)
    with pytest.raises(UnknownLesson, match="07_small"):
        lesson(key, tmp_path)


@pytest.mark.parametrize("key", HEADER)
def test_a_missing_key_is_named_with_its_file(tmp_path, key):
    write_lesson(tmp_path, **{key: None})
    with pytest.raises(SourceError, match=f"07_small.py.*`{key}`"):
        lessons(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"), [("minutes", "long"), ("minutes", "0"), ("exercises", "[a b]"), ("outcomes", "x"), ("titel", "x")]
)
def test_a_wrong_value_is_named_with_its_file(tmp_path, key, value):
    write_lesson(tmp_path, **{key: value})
    with pytest.raises(SourceError, match=f"07_small.py.*`{key}`"):
        lessons(tmp_path)


def test_everything_that_a_header_lacks_is_told_at_once(tmp_path):
    write_lesson(tmp_path, title=None, minutes=None, outcomes="x", titel="x")
    with pytest.raises(SourceError, match=r"lacks `title`.*lacks `minutes`.*`outcomes`.*unknown key `titel`"):
        lessons(tmp_path)


def test_two_lessons_of_one_number(tmp_path):
    write_lesson(tmp_path)
    write_lesson(tmp_path, name="07_other")
    with pytest.raises(SourceError, match="07_other.py and 07_small.py"):
        lessons(tmp_path)


def test_no_header_no_yaml_no_name(tmp_path):
    path = write_lesson(tmp_path)
    for text in ("print(1)\n", "# ---\n# jupyter: [\n# ---\n", "# ---\n# jupyter:\n#   course: 3\n# ---\n"):
        path.write_text(text)
        with pytest.raises(SourceError, match="07_small.py"):
            lessons(tmp_path)
    path.rename(path.with_name("Lesson7.py"))
    with pytest.raises(SourceError, match="Lesson7.py"):
        lessons(tmp_path)
