"""`course update`: a learner's work comes into the new version of a lesson, and nothing of it is lost."""

import nbformat
import pytest

from course_lib.authoring import update as updating
from course_lib.authoring.build import STUB, write
from course_lib.authoring.catalogue import lesson
from course_lib.authoring.reset import ResetError, stubbed
from course_lib.authoring.source import read_notebook
from course_lib.authoring.update import GONE, main, update

from .answered_lesson import CELLS, MINE, PAIRS, backups, cells, change, marked, remove
from .lesson_source import write_lesson

EXERCISES = "[one_of, two_of]"


def new_version(one, old, new, exercises=EXERCISES):
    """The author changes the lesson; returns the lesson as it is then."""
    root = one.source.parents[1]
    assert old in CELLS
    write_lesson(root, CELLS.replace(old, new), exercises=exercises)
    return lesson(7, root)


def rewrite(one, starts, change_text):
    """The learner changes the cell that starts with this text."""
    change(
        one, lambda book: [c.update(source=change_text(c.source)) for c in book.cells if c.source.startswith(starts)]
    )


def sources(one):
    return [cell.source for cell in nbformat.read(one.notebook, as_version=4).cells]


def test_nothing_is_written_where_nothing_changes(one):
    before = one.notebook.read_bytes()
    assert update(one) == ["07_small.ipynb: up to date"]
    assert one.notebook.read_bytes() == before and backups(one) == []


def test_answers_notes_and_cells_of_ones_own_come_into_the_new_version(one):
    def edit(book):
        book.cells.insert(4, nbformat.v4.new_code_cell("print(one_of(3))", id="own", outputs=[]))
        book.cells.append(nbformat.v4.new_markdown_cell("the end", id="end"))

    change(one, edit)
    before = one.notebook.read_bytes()
    said = "\n".join(update(new_version(one, "# And two.", "# And now two.\n#\n# Look.")))
    assert sources(one) == [
        "# Two exercises",
        "my note",
        MINE,
        'check("one_of")',
        "print(one_of(3))",
        "And now two.\n\nLook.",
        "def two_of(number):\n    return 2",
        "Check it.",
        'check("two_of")',
        "the end",
    ]
    assert marked(one) == PAIRS and not any(cell.get("outputs") for cell in cells(one).values())
    (kept,) = backups(one)
    assert kept.read_bytes() == before and str(kept) in said and "Reload Notebook from Disk" in said
    assert "one_of: your answer is carried over" in said and "cell 5: your own cell is carried over" in said
    assert update(lesson(7, one.source.parents[1])) == ["07_small.ipynb: up to date"]


def test_stubs_are_those_of_the_new_version(one):
    rewrite(one, "def one_of", lambda _: f"def one_of(n):\n    {STUB}")
    update(new_version(one, '"""One."""', '"""One, whatever comes."""'))
    assert "One, whatever comes" in cells(one)["one-of-answer"].source
    assert "return 2" in cells(one)["two-of-answer"].source


def test_an_answer_to_an_exercise_that_is_no_more_is_kept(one):
    start, end = CELLS.index('# %% exercise="one_of" role="answer"'), CELLS.index("# %% [markdown]\n# And two")
    newer = new_version(one, CELLS[start:end], "", "[two_of]")
    update(newer)
    kept = next(cell for cell in cells(one).values() if "하나" in cell.source)
    assert kept.source == GONE.format(name="one_of") + MINE and "course" not in kept.metadata
    assert marked(one) == PAIRS[2:] and 'check("one_of")' not in sources(one)
    assert update(newer) == ["07_small.ipynb: up to date"]


def test_what_the_learner_wrote_into_a_cell_of_the_lesson_stays(one):
    change(one, lambda book: book.cells[0].update(source="# Two exercises\n\nI guess: two!"))
    update(new_version(one, "# And two.", "# And now two."))
    assert sources(one)[0].endswith("I guess: two!") and "And now two." in sources(one)


def test_where_both_changed_a_cell_both_are_kept(one):
    text = "# And two.\n#\n# A second line.\n#\n# A third line."
    update(new_version(one, "# And two.", text))
    rewrite(one, "And two", lambda source: source + "\n\nMine.")
    newer = new_version(one, "# And two.", text + "\n#\n# A fourth line.")
    update(newer)
    found = [source for source in sources(one) if source.startswith("And two")]
    assert len(found) == 2 and found[0].endswith("A fourth line.") and found[1].endswith("Mine.")
    assert update(newer) == ["07_small.ipynb: up to date"]


def test_cells_that_were_deleted_come_back_and_copies_stay(one):
    def edit(book):
        remove("two-of-check")(book)
        book.cells.append(nbformat.v4.new_code_cell("print(1)", id="a"))
        book.cells.append(nbformat.v4.new_code_cell("print(1)", id="b"))
        book.cells.append(nbformat.v4.new_code_cell("def one_of(n):\n    return 3", id="c"))

    change(one, edit)
    update(one)
    assert marked(one) == PAIRS and sources(one)[-4:-1] == ["print(1)", "print(1)", "def one_of(n):\n    return 3"]
    assert cells(one)["one-of-answer"].source == MINE
    assert update(one) == ["07_small.ipynb: up to date"]


def test_one_cell_for_two_exercises(one):
    def edit(book):
        remove("two-of-answer")(book)
        next(c for c in book.cells if c.id == "one-of-answer").source = MINE + "\n\ndef two_of(n):\n    return 2"

    change(one, edit)
    update(one)
    assert cells(one)["two-of-answer"].source == "# `two_of` stands in another answer's cell."
    assert update(one) == ["07_small.ipynb: up to date"]


def test_all_metadata_and_ids_lost(one):
    def edit(book):
        book.metadata, book.nbformat_minor = {}, 4
        for cell in book.cells:
            cell.metadata = {}
            del cell["id"]

    before = sources(one)
    change(one, edit)
    update(one)
    assert sources(one) == before and marked(one) == PAIRS


@pytest.mark.parametrize("where", ["older", "older/notebooks"])
@pytest.mark.parametrize("name", ["07_small.ipynb", "07_older_name.ipynb"])
def test_answers_of_an_older_copy(one, tmp_path, where, name):
    older = tmp_path / where / name
    older.parent.mkdir(parents=True)
    older.write_bytes(one.notebook.read_bytes())
    write(one.notebook, stubbed(read_notebook(one)))
    change(one, lambda book: [c.update(source="two_of = int") for c in book.cells if c.id == "two-of-answer"])
    said = "\n".join(update(one, tmp_path / "older"))
    assert cells(one)["one-of-answer"].source == MINE and "return 2" in cells(one)["two-of-answer"].source
    assert "my note" in sources(one) and len(backups(one)) == 1 and "one_of: your answer" in said
    assert update(one, tmp_path / "older") == ["07_small.ipynb: up to date"]


def test_what_an_older_copy_does_not_answer_stays(one, tmp_path):
    older = tmp_path / "older" / "07_small.ipynb"
    older.parent.mkdir()
    book = stubbed(read_notebook(one))
    next(cell for cell in book.cells if cell.id == "two-of-answer").source = "two_of = int"
    write(older, book)
    update(one, tmp_path / "older")
    assert cells(one)["one-of-answer"].source == MINE and cells(one)["two-of-answer"].source == "two_of = int"
    assert "my note" in sources(one)


def test_no_notebook_here_or_there(one, tmp_path):
    (tmp_path / "none").mkdir()
    before = one.notebook.read_bytes()
    assert "there is none in" in update(one, tmp_path / "none")[0] and one.notebook.read_bytes() == before
    one.notebook.unlink()
    assert update(one) == ["07_small.ipynb was missing: there is a new one now"]


@pytest.mark.parametrize("data", [b"", b"{", b"<<<<<<< mine\n", b"[]"])
def test_a_notebook_that_cannot_be_read_is_left_alone(one, data, capsys):
    one.notebook.write_bytes(data)
    assert main([one]) == 1
    assert one.notebook.read_bytes() == data and backups(one) == []
    assert "07_small.ipynb is as it was: 07_small.ipynb" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["keep", "write"])
def test_a_full_disk_leaves_the_notebook_as_it_was(one, monkeypatch, capsys, part):
    def full(*_):
        raise OSError(28, "No space left on device")

    newer = new_version(one, "# And two.", "# And now two.")
    before = one.notebook.read_bytes()
    monkeypatch.setattr(updating, part, full)
    assert main([newer]) == 1
    assert one.notebook.read_bytes() == before and "No space left" in capsys.readouterr().err


def test_what_was_saved_meanwhile_is_not_overwritten(one, monkeypatch):
    newer = new_version(one, "# And two.", "# And now two.")
    read = updating.read

    def saved_between(path):
        found = read(path)
        path.write_text("newer")
        return found

    monkeypatch.setattr(updating, "read", saved_between)
    with pytest.raises(ResetError, match="another program"):
        update(newer)
    assert one.notebook.read_text() == "newer"


def test_all_lessons_where_none_is_named(one, monkeypatch, capsys):
    monkeypatch.setattr(updating, "lessons", lambda: [one])
    assert main() == 0
    assert capsys.readouterr().out == "07_small.ipynb: up to date\n"
