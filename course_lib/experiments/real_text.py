"""Sentences that people wrote, translated after `course train FILE` with its defaults: how good, after how long?

The pairs are no part of the course; get a file of them first (the ManyThings page packs Tatoeba's). `course experiment
real_text --pairs FILE` trains on each file in turn, English in its first column, on one core of the CPU, and writes
real_text.json: scores, curves, and what the model makes of a few sentences of our own.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from course_lib.data.pairs import read_pairs, split_pairs
from course_lib.experiments import parser_of, save, shipped, versions
from course_lib.generation import beam, greedy
from course_lib.saved_model import load_model
from course_lib.translation_task import judge

SOURCE, TARGET = 1, 0  # columns: into English, which the course's readers can judge
SEARCHES = {"greedy": {"search": greedy}, "beam": {"search": beam, "width": 4, "alpha": 0.6}}
FIRST = 20  # losses that are shipped, so that a test can make some of them again
NOT_SETTINGS = ("processes", "pairs", "data")  # of run.json: what `course train` found, not what it was told
# Ours, from easy to hard, written before any model saw them. None of them stands in the corpora.
SENTENCES = {
    "French": (
        "Je suis trop fatigué pour marcher ce soir.",
        "Où est la gare ?",
        "Mon frère n'aime pas le café.",
        "Elle a acheté une nouvelle voiture hier.",
        "Nous devons partir avant la nuit.",
        "Le chat noir dort sous la table de la cuisine.",
        "Il pleut depuis trois jours et la rivière déborde.",
        "La bibliothécaire a rangé les dictionnaires poussiéreux.",
    ),
    "Korean": (
        "나는 오늘 아주 피곤해.",
        "기차역은 어디에 있어요?",
        "내 동생은 커피를 좋아하지 않아.",
        "우리는 밤이 되기 전에 떠나야 해.",
        "까만 고양이가 부엌 식탁 밑에서 자고 있다.",
    ),
}


def train(pairs, folder, steps=None):
    """`course train` on a file, on one core. Returns its run.json, with a "clock" beside it.

    folder: for the model. steps: those of `course train` unless given. clock: {"wall": seconds, "cpu": those of the
    process, evaluations among them, "at": wall seconds at each evaluation}. Raises CalledProcessError where it fails.
    """
    command = [sys.executable, "-u", "-m", "course_lib", "train", str(pairs), "--output", str(folder)]
    command += ["--source", str(SOURCE), "--target", str(TARGET), *(["--steps", str(steps)] if steps else [])]
    one_core = os.environ | {"OMP_NUM_THREADS": "1", "COURSE_DEVICE": "cpu", "PYTHONIOENCODING": "utf-8"}
    began, cpu, at = time.perf_counter(), _cpu_of_children(), []
    with subprocess.Popen(command, env=one_core, stdout=subprocess.PIPE, encoding="utf-8") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if re.match(r"step [\d,]+: ", line):
                at.append(round(time.perf_counter() - began))
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    clock = {"wall": round(time.perf_counter() - began), "cpu": round(_cpu_of_children() - cpu), "at": at}
    return json.loads((Path(folder) / "run.json").read_text(encoding="utf-8")) | {"clock": clock}


def run_point(pairs, language, steps=None):
    """Train on one file and judge on its test part: one of the JSON's points. language: a key of SENTENCES."""
    with tempfile.TemporaryDirectory() as folder:
        run, trained = train(pairs, folder, steps), load_model(folder)
    settings, clock = run["settings"], run["clock"]
    test = split_pairs(read_pairs(pairs, source=SOURCE, target=TARGET).pairs, seed=settings["seed"]).test
    parts = trained.model, test, trained.source_vocabulary, trained.target_vocabulary, trained.longest
    final = {
        how: {name: str(found) for name, found in judge(*parts, **search).items()} for how, search in SEARCHES.items()
    }
    evaluations = [
        [row["step"], seconds, round(row["loss"], 3), round(row["BLEU"], 1), round(row["chrF"], 1)]
        for row, seconds in zip(run["evaluations"], clock["at"], strict=True)
    ]
    return {
        "file": "/".join(Path(pairs).parts[-2:]), "from": language, "training_pairs": settings["pairs"],
        "test_pairs": len(test), "weights": run["weights"], "steps": run["steps"], "cpu_seconds": clock["cpu"],
        "wall_seconds": clock["wall"], "settings": {k: v for k, v in settings.items() if k not in NOT_SETTINGS},
        "evaluations": evaluations, "final": final,
        "first_losses": [round(loss, 4) for loss in run["losses"][:FIRST]],
        "sentences": [[text, trained.translate(text).text] for text in SENTENCES[language]],
    }  # fmt: skip


def load_real_text():
    """The shipped result: `columns` of the evaluations, and `points`, one for each file (as `run_point` gives)."""
    return shipped("real_text")


def main(arguments=()):
    """Train on each file and write what came out. arguments: command-line words; see --help."""
    parser = parser_of("real_text", __doc__)
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, help="TSV files, English in the first column")
    parser.add_argument("--languages", nargs="+", choices=SENTENCES, default=["French"], help="of the second, for each")
    parser.add_argument("--steps", type=int, nargs="+", help="for each file; those of `course train` unless given")
    options = parser.parse_args(list(arguments))
    for name in ("languages", "steps"):
        given = getattr(options, name)
        if given and len(given) != len(options.pairs):
            parser.error(f"--{name}: expected {len(options.pairs)}, one for each file, got {len(given)}")
    steps = options.steps or [None] * len(options.pairs)
    points = [run_point(*each) for each in zip(options.pairs, options.languages, steps, strict=True)]
    words = ["course experiment real_text --pairs", *(point["file"] for point in points)]
    words += ["--languages", *options.languages, *(["--steps", *map(str, options.steps)] if options.steps else [])]
    result = {
        "command": " ".join(words),
        "versions": versions() | {name: version(name) for name in ("sentencepiece", "sacrebleu")},
        "columns": ["step", "wall seconds", "held-out loss", "BLEU", "chrF"], "points": points,
    }  # fmt: skip
    save(result, options.output)


def _cpu_of_children():
    times = os.times()  # of Windows it has no numbers, and 0 comes out
    return times.children_user + times.children_system
