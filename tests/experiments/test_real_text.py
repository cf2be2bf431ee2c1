"""Real sentences: the shipped scores are whole, are those of the present defaults, and begin again as they began."""

import json
import re

import pytest

from course_lib import train_command
from course_lib.data.pairs import read_pairs
from course_lib.experiments import EXPERIMENTS
from course_lib.experiments.real_text import FIRST, SEARCHES, SENTENCES, SOURCE, TARGET, load_real_text, main
from tests.data.corpora import FILES, real_file

COLUMNS = ["step", "wall seconds", "held-out loss", "BLEU", "chrF"]
POINTS = load_real_text()["points"]
WHO = {"나는": "I", "너는": "you", "우리는": "we"}
DOES = {"자": "sleep", "가": "go", "와": "come", "먹어": "eat", "마셔": "drink", "일해": "work", "놀아": "play"}
WHEN = {"지금": "now", "오늘": "today", "내일": "tomorrow"}
WHERE = {"집에서": "at home", "밖에서": "outside", "학교에서": "at school", "바다에서": "at the sea"}


@pytest.fixture(autouse=True)
def a_real_run_on_the_cpu(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    monkeypatch.setenv("COURSE_DEVICE", "cpu")


def score_of(text):
    return float(re.match(r"(?:BLEU|chrF) ([\d.]+) ", text)[1])


def check_point(point):
    """What holds for any run, however short."""
    assert point["training_pairs"] > point["test_pairs"] > 0
    assert point["cpu_seconds"] >= 0 and point["wall_seconds"] > 0 and point["weights"] > 0
    steps, seconds, losses, *scores = zip(*point["evaluations"], strict=True)
    assert sorted(set(steps)) == list(steps) and steps[-1] == point["steps"]
    assert sorted(seconds) == list(seconds) and 0 <= seconds[0] and seconds[-1] <= point["wall_seconds"]
    assert min(losses) > 0 and all(0 <= score <= 100 for column in scores for score in column)
    assert len(point["first_losses"]) == min(FIRST, point["steps"]) and min(point["first_losses"]) > 0
    assert point["final"].keys() == SEARCHES.keys()
    for final in point["final"].values():
        assert "tok:13a" in final["BLEU"] and "nc:6" in final["chrF"], "both with their signatures"
        assert all(0 <= score_of(text) <= 100 for text in final.values())
    assert [text for text, _ in point["sentences"]] == list(SENTENCES[point["from"]])
    assert all(written.isprintable() for _, written in point["sentences"])


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point["from"])
def test_what_is_shipped_is_whole(point):
    check_point(point)
    assert point["file"] in FILES and point["cpu_seconds"] > 60
    losses = [row[2] for row in point["evaluations"]]
    assert min(losses) < losses[0] and min(losses) < point["first_losses"][0] / 2, "it has learned"


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point["from"])
def test_it_is_of_the_present_defaults(point):
    """Red after a change of them: `course experiment real_text` measures again."""
    defaults = train_command.TEXT | train_command.FOR_BOTH
    columns = {"source": SOURCE, "target": TARGET}
    assert point["settings"] == {k: v for k, v in defaults.items() if k != "steps"} | columns
    assert point["steps"] >= defaults["steps"], "more steps go on from the default's"


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point["from"])
def test_the_first_losses_come_out_again(point, tmp_path):
    path = real_file(point["file"])
    quick = {"steps": 3, "judged": 2}  # which no loss depends on
    assert train_command.main(path, tmp_path / "run", source=SOURCE, target=TARGET, **quick) == 0
    losses = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["losses"]
    assert losses == pytest.approx(point["first_losses"][:3], abs=1e-3)


@pytest.mark.parametrize("name", FILES)
def test_no_sentence_of_the_corpora_is_shipped(name):
    """Neither among ours nor among what a model wrote, by heart or by chance."""
    known = {text for pair in read_pairs(real_file(name)).pairs for text in pair}
    assert not known & {text for sentences in SENTENCES.values() for text in sentences}
    assert not known & {text for point in POINTS for _, text in point["sentences"]}


def test_the_command_writes_what_can_be_read(tmp_path, capsys):
    rows = [f"{WHEN[when]} {WHO[who]} {DOES[does]} {WHERE[where]}.\t{when} {who} {where} {does}."
            for who in WHO for does in DOES for when in WHEN for where in WHERE]  # fmt: skip
    pairs, output = tmp_path / "ours" / "small.tsv", tmp_path / "result.json"
    pairs.parent.mkdir()
    pairs.write_text("\n".join(rows), encoding="utf-8")
    words = ["--pairs", str(pairs), "--languages", "Korean", "--steps", "2", "--output", str(output)]
    EXPERIMENTS["real_text"](words)
    result = json.loads(output.read_text(encoding="utf-8"))
    assert result["command"] == "course experiment real_text --pairs ours/small.tsv --languages Korean --steps 2"
    assert str(tmp_path) not in output.read_text(encoding="utf-8")
    (point,) = result["points"]
    check_point(point)
    assert point["from"] == "Korean" and point["steps"] == 2 and result["columns"] == COLUMNS
    with pytest.raises(SystemExit):
        main(["--pairs", "a.tsv", "b.tsv"])
    assert "--languages: expected 2, one for each file, got 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--pairs", "a.tsv", "--steps", "3", "4"])
    assert "--steps: expected 1, one for each file, got 2" in capsys.readouterr().err
