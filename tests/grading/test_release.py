"""`course release`: nbgrader's layout and metadata, no solution for students, nothing overwritten, help without the
library."""

import json

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import compute_checksum

from course_lib.authoring.build import STUB, learner_version
from course_lib.authoring.catalogue import lesson, lessons
from course_lib.authoring.source import BEGIN, read_notebook
from course_lib.grading import release as releasing
from course_lib.grading.assignment import make, read
from course_lib.grading.release import ReleaseError, contents, release
from tests.notebooks.test_leaks import answer_cells, leaks, lines, regions

CHOSEN = {"softmax": 3.0, "padding_mask": 1.5, "causal_mask": 0.0}
ZERO, FIVE = "00_start_here", "05_self_attention_and_masks"


@pytest.fixture(scope="module")
def assignment():
    return make([0, 5], list(CHOSEN), CHOSEN, "hw1")


@pytest.fixture(scope="module")
def books(assignment):
    """{(step, lesson): notebook} as they lie in the folder."""
    return books_of(assignment)


def books_of(assignment):
    return {
        (name.split("/")[0], name.split("/")[-1][:-6]): nbformat.reads(data.decode(), as_version=4)
        for name, data in contents(assignment).items()
        if name.endswith(".ipynb")
    }


def with_nbgrader(book):
    return {cell.metadata.nbgrader.grade_id: cell for cell in book.cells if "nbgrader" in cell.metadata}


def test_the_files_are_those_of_nbgraders_layout(assignment, tmp_path):
    out = tmp_path / "course"
    written = [path.relative_to(out).as_posix() for path in release(assignment, out)]
    assert written == sorted(
        f"{step}/hw1/{name}"
        for step in ("source", "release")
        for name in (f"{ZERO}.ipynb", f"{FIVE}.ipynb", "assignment.json")
    )
    assert read(out / "source" / "hw1") == read(out / "release" / "hw1") == assignment
    assert {path.name for path in out.iterdir()} == {"source", "release", releasing.RECORD}


@pytest.mark.parametrize("step", ["source", "release"])
def test_graded_cells_have_nbgraders_metadata_and_no_others(books, step):
    for name in (ZERO, FIVE):
        book = books[step, name]
        MetadataValidator().validate_nb(book)
        graded = [one for one in lesson(name).exercises if one in CHOSEN]
        ids = [f"{one}-{role}".replace("_", "-") for one in graded for role in ("answer", "check")]
        found = with_nbgrader(book)
        assert sorted(found) == sorted(ids) and all(cell.id == key for key, cell in found.items())
        for key, cell in found.items():
            mark, check = cell.metadata.nbgrader, key.endswith("-check")
            assert (mark.grade, mark.locked, mark.solution) == (check, check, not check)
            assert mark.schema_version == 3 and mark.task is False
            assert mark.get("points") == (CHOSEN[cell.metadata.course.exercise] if check else None)


def test_what_students_get_is_locked_and_has_checksums(books):
    for name in (ZERO, FIVE):
        for key, cell in with_nbgrader(books["release", name]).items():
            assert cell.metadata.nbgrader.checksum == compute_checksum(cell)
            assert cell.metadata.deletable is False
            assert cell.metadata.get("editable", True) is not key.endswith("-check")


@pytest.mark.parametrize("step", ["source", "release"])
def test_apart_from_the_marks_and_the_top_a_notebook_is_that_of_the_build(books, step):
    for name in (ZERO, FIVE):
        plain = read_notebook(lesson(name))
        wanted = plain if step == "source" else learner_version(plain)
        book = books[step, name]
        assert [cell.id for cell in book.cells[:2]] == ["assignment-note", "assignment-library"]
        assert [(cell.id, cell.source, cell.cell_type) for cell in book.cells[2:]] == [
            (cell.id, cell.source, cell.cell_type) for cell in wanted.cells
        ]
        assert [cell.metadata.get("course") for cell in book.cells[2:]] == [
            cell.metadata.get("course") for cell in wanted.cells
        ]
        assert book.metadata == wanted.metadata and book.metadata.course.name == name
        assert not any(cell.get("outputs") for cell in book.cells)


def test_exercises_that_are_not_graded_stay_as_practice(books):
    stubs = answer_cells(books["release", FIVE])
    assert set(stubs) == set(lesson(FIVE).exercises)
    assert all(STUB in source for source in stubs.values())
    note = books["release", FIVE].cells[0].source
    for name in lesson(FIVE).exercises:
        row = f"| `{name}` | {CHOSEN[name]:g} |" if name in CHOSEN else f"`{name}`"
        assert row in note
    assert "**hw1** · this notebook gives 1.5 points" in note
    assert "practice" not in books["release", ZERO].cells[0].source


def test_no_solution_reaches_the_students():
    """In no lesson, released whole, which is the most that can leak."""
    books = books_of(make([one.number for one in lessons()], name="all"))
    students = [book for (step, _), book in books.items() if step == "release"]
    shown = [line for book in students for cell in book.cells for line in lines(cell.source)]
    assert not any(BEGIN in line for line in shown)
    for one in lessons():
        stubs = answer_cells(books["release", one.name])
        for exercise, source in answer_cells(books["source", one.name]).items():
            assert regions(source)
            for region in regions(source):
                assert not leaks(region, shown, stubs[exercise]), exercise


def test_the_files_for_students_name_no_place_of_this_machine(assignment, tmp_path):
    for path in release(assignment, tmp_path):
        text = path.read_text(encoding="utf-8")
        assert str(tmp_path) not in text and str(lesson(0).source.parents[1]) not in text


# --- again, and over files that are there


def test_a_second_release_writes_the_same_bytes_and_touches_nothing(assignment, tmp_path):
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in release(assignment, tmp_path)}
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in release(assignment, tmp_path)} == before
    assert contents(assignment) == contents(assignment)


def test_ours_unchanged_is_replaced(assignment, tmp_path):
    release(assignment, tmp_path)
    other = make([0, 5], list(CHOSEN), {"softmax": 5}, "hw1", diagnoses=False)
    release(other, tmp_path)
    assert read(tmp_path / "source" / "hw1") == other
    assert "diagnoses=False" in (tmp_path / f"release/hw1/{ZERO}.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [f"source/hw1/{ZERO}.ipynb", f"release/hw1/{FIVE}.ipynb", "source/hw1/assignment.json"]
)
def test_a_changed_file_is_refused_and_then_nothing_is_written(assignment, tmp_path, name):
    release(assignment, tmp_path)
    (tmp_path / name).write_text("mine", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ReleaseError, match="--force") as caught:
        release(make([0, 5], list(CHOSEN), {"softmax": 5}, "hw1"), tmp_path)
    assert name in str(caught.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    release(assignment, tmp_path, force=True)
    assert (tmp_path / name).read_text(encoding="utf-8") != "mine"


def test_files_of_somebody_else_are_refused(assignment, tmp_path):
    there = tmp_path / "source" / "hw1" / f"{ZERO}.ipynb"
    there.parent.mkdir(parents=True)
    there.write_text("somebody's", encoding="utf-8")
    with pytest.raises(ReleaseError):
        release(assignment, tmp_path)
    assert there.read_text(encoding="utf-8") == "somebody's" and not (tmp_path / "release").exists()


def test_a_release_that_was_cut_off_goes_on(assignment, tmp_path):
    release(assignment, tmp_path)
    (tmp_path / releasing.RECORD).unlink()
    (tmp_path / f"release/hw1/{ZERO}.ipynb").unlink()
    assert all(path.exists() for path in release(assignment, tmp_path))


@pytest.mark.parametrize("record", ["{", "[]", "\x00"])
def test_a_broken_record_means_that_nothing_is_known(assignment, tmp_path, record):
    release(assignment, tmp_path)
    (tmp_path / releasing.RECORD).write_text(record, encoding="utf-8")
    release(assignment, tmp_path)
    (tmp_path / releasing.RECORD).write_text(record, encoding="utf-8")
    with pytest.raises(ReleaseError):
        release(make([0, 5], list(CHOSEN), {"softmax": 5}, "hw1"), tmp_path)


def test_two_assignments_share_a_folder(assignment, tmp_path):
    release(assignment, tmp_path)
    release(make([0], name="hw2"), tmp_path)
    record = json.loads((tmp_path / releasing.RECORD).read_text(encoding="utf-8"))
    assert {name.split("/")[1] for name in record} == {"hw1", "hw2"}
    release(make([0, 5], list(CHOSEN), {"softmax": 5}, "hw1"), tmp_path)


# --- the command


def test_the_command_says_what_it_wrote_and_what_is_left_of_before(tmp_path, capsys):
    assert releasing.main(["00", "05"], tmp_path, ["softmax", "causal_mask"], {"softmax": 3}, "hw1") == 0
    said = capsys.readouterr()
    assert f"hw1: 2 exercises, {3 + 2:g} points" in said.out and f"{ZERO}.ipynb" in said.out and not said.err
    assert releasing.main(["00"], tmp_path, name="hw1") == 0
    assert f"{FIVE}.ipynb is of an earlier release" in capsys.readouterr().err
    assert (tmp_path / f"release/hw1/{FIVE}.ipynb").exists()


@pytest.mark.parametrize(
    ("keys", "options", "status", "said"),
    [
        (["77"], {}, 2, "there is no lesson '77'"),
        (["00"], {"exercises": ["sofmax"]}, 2, "did you mean softmax"),
        (["00"], {"points": {"softmax": -1.0}}, 2, "points of softmax"),
        (["00"], {"name": "../x"}, 2, "'../x'"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path, capsys, keys, options, status, said):
    assert releasing.main(keys, tmp_path / "out", **options) == status
    error = capsys.readouterr().err
    assert error.startswith("course: ") and said in error and len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_the_command_refuses_what_was_changed(tmp_path, capsys):
    assert releasing.main(["00"], tmp_path, name="hw1") == 0
    (tmp_path / f"release/hw1/{ZERO}.ipynb").write_text("mine", encoding="utf-8")
    assert releasing.main(["00"], tmp_path, name="hw1") == 1
    assert "--force" in capsys.readouterr().err
    assert releasing.main(["00"], tmp_path, name="hw1", force=True) == 0


def test_a_folder_that_is_a_file_is_said(tmp_path, capsys):
    (tmp_path / "out").touch()
    assert releasing.main(["00"], tmp_path / "out") == 1
    assert capsys.readouterr().err.startswith("course: ")
