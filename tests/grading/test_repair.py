"""Whatever happened to a notebook: its answers count, the lesson's trainings do not run, and the notes say what was."""

import json
import random
import time

import pytest

from course_lib import exercises
from course_lib.authoring.build import STUB
from course_lib.authoring.catalogue import lessons
from course_lib.authoring.source import read_notebook
from course_lib.grading.repairing import repair as repairing
from course_lib.grading.repairing.repair import repair

from .broken_files import FILES, UNREADABLE
from .small_notebook import add, answered, bare, both, data_of, edit, run, verdict
from .test_reading import file_of

NAMES = ("twice", "thrice")


def work_of(book, lesson, folder):
    path = folder / "work.ipynb"
    path.write_bytes(data_of(book))
    return repair(path, lesson, lesson.exercises)


@pytest.mark.parametrize("name", FILES)
def test_each_file_gets_what_it_deserves(name, small, tmp_path, capsys):
    _, deserved, note = FILES[name]
    work = repair(file_of(name, small, tmp_path), small, NAMES)
    assert work.trouble == "" and work.file == "07_small.ipynb" and work.lesson == small.name
    assert {one: verdict(work, one) for one in NAMES} == deserved
    assert note in "; ".join(work.notes)
    assert "training ran" not in capsys.readouterr().out
    assert not any("fractions" in cell.source for cell in work.own), "an import that nobody needs costs time"


@pytest.mark.parametrize("name", UNREADABLE)
def test_each_file_that_cannot_be_read_is_a_reason(name, small, tmp_path):
    made, _ = UNREADABLE[name]
    path = tmp_path / "x.ipynb"
    path.write_bytes(made(data_of(answered(small))) if callable(made) else made)
    work = repair(path, small, NAMES)
    assert work.trouble.startswith("x.ipynb") and work.own == () and work.answers == {"twice": (), "thrice": ()}


def test_places_count_all_cells_from_one(small, tmp_path):
    work = work_of(answered(small), small, tmp_path)
    assert [(cell.place, cell.exercise) for cell in work.answers["twice"]] == [("cell 4", "twice")]
    assert [cell.place for cell in work.own] == ["cell 2", "cell 3", "cell 4", "cell 7"]


def test_what_mine_gives_stays_where_an_answer_asks_for_it(small, tmp_path):
    book = answered(small)
    edit("thrice-answer", "def thrice(x):\n    return my_twice(x) + x")(book)
    work = work_of(book, small, tmp_path)
    assert verdict(work, "thrice") == "right"
    assert 'my_twice = mine("twice")' in [cell.source for cell in work.own]


def test_future_and_star_imports_stay(small, tmp_path):
    book = answered(small)
    book.cells[2].source = "from __future__ import annotations\nfrom string import *\n" + book.cells[2].source
    sources = [cell.source for cell in work_of(book, small, tmp_path).own]
    assert "from __future__ import annotations" in sources and "from string import *" in sources


def test_cells_of_the_learner_run_in_full_and_those_of_the_lesson_do_not(small, tmp_path):
    book = answered(small)
    add("seen = [twice(1)]\nprint(seen)")(book)
    work = work_of(book, small, tmp_path)
    assert run(work)["seen"] == [2] and "model" not in run(work)


def test_only_graded_exercises_are_looked_for(small, tmp_path):
    book = answered(small)
    path = tmp_path / "work.ipynb"
    path.write_bytes(data_of(book))
    work = repair(path, small, ("thrice",))
    assert list(work.answers) == ["thrice"] and verdict(work, "thrice") == "right"


def test_a_stub_with_a_note_and_other_words_is_still_as_given(small, tmp_path):
    book = answered(small)
    stub = f'def twice(x):\n    """Mine."""\n    # how?\n    {STUB}'
    both(edit("twice-answer", stub), add("def twice(x):\n    return x + x", before="twice-answer"))(book)
    assert verdict(work_of(book, small, tmp_path), "twice") == "right"


WEIRD = [None, [], {}, 1, -1.5, True, "x", "\ud800", [[]], {"a": {}}, ["a", 1], "def twice(:"]


def spoilt(value, draw):
    """JSON in which something here and there is something else."""
    if isinstance(value, dict):
        return {name: draw.choice(WEIRD) if draw.random() < 0.05 else spoilt(one, draw) for name, one in value.items()}
    if isinstance(value, list):
        return [draw.choice(WEIRD) if draw.random() < 0.03 else spoilt(one, draw) for one in value]
    return value


@pytest.mark.parametrize("seed", range(3))
def test_nothing_in_a_file_raises(seed, small, tmp_path):
    draw, good, path = random.Random(seed), data_of(answered(small)), tmp_path / "x.ipynb"
    read = 0
    for _ in range(100):
        data = bytearray(json.dumps(spoilt(json.loads(good), draw)).encode())
        if draw.random() < 0.3:
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(data)
        work = repair(path, small, NAMES)
        json.dumps([[cell.source for cell in work.own], work.notes, work.trouble], ensure_ascii=False).encode()
        read += not work.trouble
    assert read > 30


BOMBS = {
    "brackets": "(" * 50_000,
    "signs": "-" * 50_000 + "1",
    "a long sum": "+".join("1" * 50_000),
    "dots": "a" + ".b" * 20_000,
    "indents": "\n".join(" " * i + "if 1:" for i in range(150)),
    "magics": "%time\n" * 20_000,
    "question marks": "a?\n" * 20_000,
    "a huge cell": "x = 1\n" * 50_000,
    "a huge text": "'" + "a" * 300_000 + "'",
    "a long number": "x = " + "9" * 50_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_cells_made_to_break_a_parser_cost_nothing_else(bomb, small, tmp_path):
    book = answered(small)
    add(BOMBS[bomb], before="twice-answer", id="bomb")(book)
    edit("thrice-check", "check(" + BOMBS[bomb])(book)
    start = time.monotonic()
    work = work_of(book, small, tmp_path)
    assert time.monotonic() - start < 5
    sources = {name: [cell.source for cell in work.answers[name]] for name in NAMES}
    assert ["return doubled(x)" in text for text in sources["twice"]] == [True] and len(sources["thrice"]) == 1


def test_thousands_of_names_take_seconds(small, tmp_path):
    cells = [add(f"name_{i} = {i}") for i in range(3_000)]
    source = f"def twice(x):\n    return 2 * x\n    return {', '.join(f'name_{i}' for i in range(3_000))}"
    book = answered(small)
    both(*cells, edit("twice-answer", source))(book)
    start = time.process_time()
    assert verdict(work_of(book, small, tmp_path), "twice") == "right"
    assert time.process_time() - start < 20


def test_a_file_that_takes_too_long_is_a_reason(small, tmp_path, monkeypatch):
    monkeypatch.setattr(repairing, "SECONDS", 0.5)
    book = answered(small)
    both(*(add(f"x = {i}\n" + "%a\n" * 700) for i in range(100)))(book)
    start = time.monotonic()
    work = work_of(book, small, tmp_path)
    assert "work.ipynb: it takes longer than 0.5 s" in work.trouble and work.answers == {"twice": (), "thrice": ()}
    assert time.monotonic() - start < 5


def stripped(book):
    bare(book)


def shuffled(book):
    bare(book)
    random.Random(0).shuffle(book.cells)


@pytest.mark.parametrize("happens", [lambda book: None, stripped, shuffled], ids=["as it was", "bare", "shuffled"])
@pytest.mark.parametrize("real", lessons(), ids=lambda real: real.name)
def test_each_solution_gives_all_answers_and_nothing_trains(real, happens, tmp_path):
    book = read_notebook(real)
    happens(book)
    work = work_of(book, real, tmp_path)
    space = {"__name__": "the notebook"}
    start = time.monotonic()
    for cell in [*work.own, *(cell for cells in work.answers.values() for cell in cells)]:
        space |= {"check": lambda *_: None, "mine": lambda name: exercises.get(name).reference}
        exec(compile(cell.source, cell.place, "exec"), space)
    assert time.monotonic() - start < 5
    for name in real.exercises:
        assert callable(space[name]) and space[name].__module__ == "the notebook"
        assert [cell.exercise for cell in work.answers[name]] == [name]
    assert not [note for note in work.notes if "ids were missing" not in note]
