"""`course train`: the lesson's training or that of a file, stopped and gone on with, in one process or in two."""

import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from course_lib import cli, train_command
from course_lib.authoring.catalogue import repo_root
from course_lib.data.batches import training_batches
from course_lib.data.vocabulary import PAD, Vocabulary
from course_lib.saved_model import load_model
from course_lib.training import fit, sequence_loss
from course_lib.training.checkpoints import read_checkpoint
from course_lib.training.processes import part_of
from course_lib.training.schedules import noam_rate
from course_lib.transformer import Transformer
from course_lib.translation_task import grammar_task

SMALL = {"d_model": 16, "heads": 2, "d_ff": 24, "layers": 1, "warmup": 10, "batch_size": 16, "judged": 5}
GRAMMAR = SMALL | {"steps": 12, "evaluate_every": 8}
TEXT = SMALL | {"vocab": 330, "steps": 12, "evaluate_every": 8, "dropout": 0.0}

WHO = {"the cat": "le chat", "my sister": "ma sœur", "a small bird": "un petit oiseau", "the baker": "le boulanger",
       "his friend": "son ami", "our teacher": "notre maître", "the old man": "le vieil homme"}  # fmt: skip
DOES = {"sees": "voit", "likes": "aime", "finds": "trouve", "draws": "dessine", "calls": "appelle"}


@pytest.fixture(autouse=True)
def a_real_run_on_the_cpu(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    monkeypatch.setenv("COURSE_DEVICE", "cpu")


@pytest.fixture
def tsv(tmp_path):
    """Sentences of our own, enough to learn them."""
    rows = [f"{who} {does} {whom}.\t{WHO[who]} {DOES[does]} {WHO[whom]}."
            for who in WHO for does in DOES for whom in WHO if who != whom]  # fmt: skip
    path = tmp_path / "small.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_minutes_are_sixty_seconds_each(tsv, tmp_path, monkeypatch):
    given, real = {}, fit

    def two_steps(*arguments, **options):
        given.update(options)
        return real(*arguments, **options | {"steps": 2, "seconds": None})

    monkeypatch.setattr(train_command, "fit", two_steps)
    settings = {name: value for name, value in TEXT.items() if name != "steps"}
    assert train_command.main(tsv, tmp_path / "timed", minutes=1.5, **settings) == 0
    assert given["seconds"] == 90 and given["steps"] > 10**6


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a grammar run that was never stopped."""
    folder = tmp_path_factory.mktemp("trained") / "new" / "korean"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COURSE_SMOKE", raising=False)
        patch.setenv("COURSE_DEVICE", "cpu")
        assert train_command.main(None, folder, **GRAMMAR) == 0
    return folder


def weights_of(folder):
    return load_model(folder).model.state_dict()


def assert_same(first, second):
    assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def course(*arguments):
    """(exit status, all that was printed) of `course train ARGUMENTS`."""
    result = CliRunner().invoke(cli.app, ["train", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


# --- the grammar


def test_it_is_the_training_of_the_lesson(trained):
    task = grammar_task()
    torch.manual_seed(0)
    sizes = {"d_model": 16, "num_heads": 2, "d_ff": 24, "encoder_layers": 1, "decoder_layers": 1}
    model = Transformer(len(task.source_vocabulary), len(task.target_vocabulary), **sizes, dropout=0.0, tied="output")
    loss = functools.partial(sequence_loss, smoothing=0.1)
    rate = functools.partial(noam_rate, d_model=16, warmup=10)
    history = fit(model, training_batches(task.training, 16, seed=0), loss, steps=12, lr=rate, progress=False)
    assert_same(weights_of(trained), model.state_dict())
    assert json.loads((trained / "run.json").read_text(encoding="utf-8"))["losses"] == history.losses


def test_the_folder_has_all_that_is_needed(trained):
    assert {path.name for path in trained.iterdir()} == {"model.pt", "training.pt", "run.json", "curve.png"}
    assert (trained / "curve.png").read_bytes().startswith(b"\x89PNG")
    run = json.loads((trained / "run.json").read_text(encoding="utf-8"))
    assert run["steps"] == 12 and [row["step"] for row in run["evaluations"]] == [8, 12]
    assert all(row.keys() == {"step", "loss", "sentences", "combinations"} for row in run["evaluations"])
    assert run["evaluations"][0]["loss"] > run["evaluations"][1]["loss"] > 0
    found = load_model(trained)
    assert found.settings["steps"] == 12 and not found.model.training
    assert not found.model.encoder.blocks[0].around_feed_forward.norm_first, "post-norm, as in the lesson"
    written = found.translate("나는 너를 사랑해.")
    assert written.source == ("나", "는", "너", "를", "사랑해") and 1 <= len(written.target) <= 20
    assert isinstance(found.source_vocabulary, Vocabulary) and "love" in found.target_vocabulary.symbols


def test_the_defaults_are_those_of_lesson_9():
    lesson = (repo_root() / "solutions" / "09_transformer.py").read_text(encoding="utf-8")
    numbers = train_command.GRAMMAR | train_command.FOR_BOTH
    said = [
        '"d_model": {d_model}, "num_heads": {heads}, "d_ff": {d_ff},',
        '"encoder_layers": {layers}, "decoder_layers": {layers}',
        "dropout={dropout}, tied=",
        "training_batches(pairs, {batch_size}, seed={seed})",
        "smoothing={smoothing})",
        "steps={steps},",
        "d_model={d_model}, warmup={warmup})",
        "evaluate_every={evaluate_every},",
    ]
    assert [line for line in said if line.format_map(numbers) not in lesson] == []


def test_a_run_that_was_interrupted_goes_on_to_the_same_weights(trained, tmp_path, monkeypatch, capsys):
    real = train_command.held_out_loss

    def interrupt(*arguments):
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(train_command, "held_out_loss", interrupt)
        assert train_command.main(None, tmp_path / "run", **GRAMMAR) == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    assert "the same command goes on from there" in capsys.readouterr().out
    assert len(read_checkpoint(tmp_path / "run" / "training.pt")["losses"]) == 8
    assert not (tmp_path / "run" / "model.pt").exists()
    monkeypatch.setattr(train_command, "held_out_loss", real)
    assert train_command.main(None, tmp_path / "run", **GRAMMAR) == 0
    said = capsys.readouterr().out
    assert "going on with the training in" in said and "step 12: held-out loss" in said and "step 8" not in said
    assert_same(weights_of(tmp_path / "run"), weights_of(trained))


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"d_ff": 25}, "another run is in it: d_ff was 24, and is 25 now. Give --output another folder"),
        ({"seed": 1}, "seed was 0, and is 1 now"),
        ({"steps": 11}, "it has 12 steps behind it, more than steps=11"),
    ],
)
def test_another_run_is_refused_and_nothing_is_changed(trained, capsys, other, reason):
    before = {path.name: path.read_bytes() for path in trained.iterdir()}
    assert train_command.main(None, trained, **GRAMMAR | other) == 2
    assert reason in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in trained.iterdir()} == before


def test_a_training_that_nobody_knows_is_refused(tmp_path, capsys):
    (tmp_path / "training.pt").write_bytes(b"?")
    assert train_command.main(None, tmp_path, **GRAMMAR) == 2
    assert "run.json does not say which training it holds" in capsys.readouterr().err


# --- a file


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("name", ["training.pt", "model.pt", "curve.png", "run.json"])
def test_a_full_disk_ends_it_with_one_line_and_nothing_half_written(trained, tmp_path, capsys, name):
    """What was kept before is there still, and the same command goes on from it."""
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / f"{name}.tmp").symlink_to("/dev/full")
    longer = GRAMMAR | {"steps": 14}
    assert train_command.main(None, folder, **longer) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "No space left on device: " in said and name in said and "the same command goes on from there" in said
    assert (folder / name).read_bytes() == before[name]
    assert {path.name for path in folder.iterdir()} == before.keys()
    assert train_command.main(None, folder, **longer) == 0
    assert load_model(folder).settings["steps"] == 14


def test_a_file_of_pairs_is_learned_and_kept(tsv, course_home):
    sizes = ("--d-model", 32, "--heads", 4, "--d-ff", 64, "--layers", 1, "--dropout", 0, "--vocab", 400)
    times = ("--steps", 300, "--warmup", 100, "--evaluate-every", 200, "--batch-size", 32, "--judged", 10)
    status, said = course(tsv, *sizes, *times)
    assert status == 0, said
    assert "small.tsv: 210 lines read, 210 pairs kept" in said and "step 200: held-out loss" in said
    assert "tok:13a" in said and "nc:6" in said, "both signatures"
    found = load_model(course_home / ".course" / "models" / "small")
    written = found.translate("the cat sees our  teacher.")
    assert written.text == "le chat voit notre maître." and "".join(written.source).startswith("▁the▁cat")
    run = json.loads((course_home / ".course" / "models" / "small" / "run.json").read_text(encoding="utf-8"))
    assert run["evaluations"][-1]["BLEU"] > 80 and run["final"]["BLEU"].startswith("BLEU ")
    assert found.target_vocabulary.model and len(found.target_vocabulary) <= 400
    assert found.model.encoder.blocks[0].around_feed_forward.norm_first, "pre-norm"


def test_a_korean_target_is_judged_by_characters(tmp_path):
    rows = [f"{who} {does}\t{a} {b}" for who, a in zip(WHO, "가나다라마바사", strict=True)
            for does, b in zip("abcdefghij", "아자차카타파하거너더", strict=True)]  # fmt: skip
    path = tmp_path / "korean.tsv"
    path.write_text("\n".join(rows), encoding="utf-8")
    assert train_command.main(path, tmp_path / "out", **TEXT | {"steps": 1}) == 0
    assert "tok:char" in json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["final"]["BLEU"]


def test_a_bad_line_ends_it_with_its_number_or_is_counted(tsv, tmp_path):
    lines = tsv.read_text(encoding="utf-8").splitlines()
    tsv.write_text("\n".join([*lines[:2], "only one column", *lines[2:]]), encoding="utf-8")
    status, said = course(tsv, "--output", tmp_path / "out")
    assert status == 2 and "small.tsv, line 3: one column, no tab in it" in said and "Traceback" not in said
    assert not (tmp_path / "out").exists()
    options = [part for name, value in TEXT.items() for part in (f"--{name.replace('_', '-')}", value)]
    status, said = course(tsv, "--output", tmp_path / "out", "--bad", "skip", *options)
    assert status == 0 and "skipped, too few columns: 1, line 3" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--vocab", 400], "--vocab is about a file of pairs, and none is named"),
        (["--steps", 3, "--minutes", 1], "--steps and --minutes: give one of them"),
        (["--minutes", 0], "--minutes: expected a positive number, got 0.0"),
        (["--d-model", 10, "--heads", 3], "10"),
        (["none.tsv"], "there is no file none.tsv"),
    ],
)
def test_what_does_not_fit_ends_with_status_2_and_one_line(arguments, said, course_home):
    status, text = course(*arguments)
    assert status == 2 and said in text and len(text.splitlines()) == 1, text
    assert not list(course_home.iterdir())


# --- two processes


def test_a_part_counts_by_its_tokens():
    pairs = [([5] * (1 + n % 3), [6] * (1 + n * n % 7)) for n in range(7)]
    batch = next(training_batches(pairs, 7, seed=0))
    parts = [part_of(batch, rank, 3) for rank in range(3)]
    assert [len(part.batch) for part in parts] == [3, 2, 2]
    tokens = [int((part.batch.target != PAD).sum()) for part in parts]
    assert [part.weight for part in parts] == pytest.approx([3 * each / sum(tokens) for each in tokens])
    assert len(set(tokens)) > 1 and sum(tokens) == (batch.target != PAD).sum()
    rows = sorted(tuple(row) for part in parts for row in part.batch.target.tolist())
    assert rows == sorted(map(tuple, batch.target.tolist()))


def test_two_processes_reach_the_weights_of_one(tsv, tmp_path):
    """All but the biases of the keys: softmax takes away what all keys share, so their gradient is rounding alone."""
    options = [str(part) for name, value in TEXT.items() for part in (f"--{name.replace('_', '-')}", value)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = ["torch.distributed.run", "--nproc_per_node=2", "--master_addr=127.0.0.1", f"--master_port={port}"]
    command = [sys.executable, "-m", *launch, "-m", "course_lib", "train", str(tsv), "--output", str(tmp_path / "two")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COURSE_DEVICE": "cpu"}
    done = subprocess.run(
        [*command, *options], cwd=repo_root(), env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("step 12: held-out loss") == 1 and "processes: 2" in done.stdout
    assert train_command.main(tsv, tmp_path / "one", **TEXT) == 0
    one, two = (weights_of(tmp_path / name) for name in ("one", "two"))
    for name, weight in one.items():
        if name.endswith("W_qkv.bias"):
            keys = torch.arange(len(weight)).chunk(3)[1]
            weight, two[name] = weight.index_fill(0, keys, 0), two[name].index_fill(0, keys, 0)
        torch.testing.assert_close(two[name], weight, atol=2e-4, rtol=0, msg=name)
    first, second = (json.loads((tmp_path / name / "run.json").read_text(encoding="utf-8")) for name in ("one", "two"))
    assert second["losses"] == pytest.approx(first["losses"], abs=1e-4)
    assert train_command.main(tsv, tmp_path / "two", **TEXT) == 2, "another number of processes is another run"
