"""The `course` command. Each command loads what it needs when it runs, so that `course --help` is quick."""

from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli_instructor import add_commands
from course_lib.cli_support import LESSON, PASS_ON, AsJson, UnknownName, fail, known, pick

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="From Seq2Seq to Transformer: learn attention by building it.",
)


@app.command(context_settings=PASS_ON)
def lab(context: typer.Context, browser: Annotated[bool, typer.Option(help="Open a browser.")] = True):
    """Open JupyterLab at lesson 0. Other options go to JupyterLab (say --port 9000)."""
    from course_lib.lab import open_lab

    raise typer.Exit(open_lab(context.args, browser=browser))


@app.command()
def check(
    lesson: Annotated[str, typer.Argument(help=LESSON)],
    notebook: Annotated[Path | None, typer.Argument(help="Another copy of its notebook.")] = None,
    as_json: AsJson = False,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds that one cell may take.")] = 120,
):
    """Run a learner's notebook from top to bottom: exit status 0 only if every exercise passes."""
    from course_lib.authoring import catalogue, checker

    with known():
        name = catalogue.lesson(lesson).name
    if notebook is not None and not notebook.is_file():
        fail(f"there is no file {notebook}")
    raise typer.Exit(checker.main(name, notebook, as_json, timeout))


@app.command()
def build(lessons: Annotated[list[str] | None, typer.Argument(help=f"{LESSON} All if none is named.")] = None):
    """Make both notebooks of each lesson from its source (for authors)."""
    from course_lib.authoring import build as builder
    from course_lib.authoring import catalogue

    with known():
        names = [catalogue.lesson(lesson).name for lesson in lessons or ()]
    raise typer.Exit(builder.main(names))


@app.command()
def reset(
    lesson: Annotated[str, typer.Argument(help=LESSON)],
    exercise: Annotated[str | None, typer.Argument(help="This exercise alone; all of the lesson if not named.")] = None,
):
    """Put the stub of an exercise back into your notebook; what you wrote is kept in notebooks/backup/."""
    from course_lib.authoring import catalogue
    from course_lib.authoring import reset as resetting

    with known():
        one = catalogue.lesson(lesson)
        if exercise is not None and exercise not in one.exercises:
            owners = [other.name for other in catalogue.lessons() if exercise in other.exercises]
            if owners:
                raise UnknownName(f"the exercise {exercise!r} is not in {one.name}, but in {owners[0]}")
            pick(exercise, dict.fromkeys(one.exercises), f"exercise in {one.name} called")
    raise typer.Exit(resetting.main(one, [exercise] if exercise else ()))


@app.command()
def update(
    lessons: Annotated[list[str] | None, typer.Argument(help=f"{LESSON} All if none is named.")] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="The folder of an older copy; this one's notebooks if none."),
    ] = None,
):
    """Carry your answers into the lessons of this version; what is replaced goes to notebooks/backup/."""
    from course_lib.authoring import catalogue
    from course_lib.authoring import update as updating

    with known():
        chosen = [catalogue.lesson(lesson) for lesson in lessons or ()] or list(catalogue.lessons())
    if source is not None and not source.is_dir():
        fail(f"there is no folder {source}")
    raise typer.Exit(updating.main(chosen, source))


@app.command()
def matrix(
    as_json: AsJson = False,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")] = 3,
    remote: Annotated[bool, typer.Option("--remote", help="Run every answer in another process.")] = False,
    exercise: Annotated[str | None, typer.Option(help="This exercise alone.")] = None,
):
    """Check every exercise against its right answers, its stub and every known mistake."""
    from course_lib import matrix_command

    with known():
        raise typer.Exit(matrix_command.main(seeds=seeds, as_json=as_json, remote=remote, exercise=exercise))


@app.command()
def train(
    pairs: Annotated[
        Path | None, typer.Argument(help="A file of sentence pairs (TSV). The Korean grammar if none.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="The folder, .course/models/NAME unless given.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="How many updates (600, for a file 3,000).")] = None,
    minutes: Annotated[float | None, typer.Option(help="How long, instead of --steps.")] = None,
    d_model: Annotated[int | None, typer.Option(min=1, help="Width (64, for a file 128).")] = None,
    heads: Annotated[int | None, typer.Option(min=1)] = None,
    d_ff: Annotated[int | None, typer.Option(min=1, help="Width inside the feed-forward networks.")] = None,
    layers: Annotated[int | None, typer.Option(min=1, help="Blocks a side.")] = None,
    dropout: Annotated[float | None, typer.Option(min=0, max=0.99)] = None,
    warmup: Annotated[int | None, typer.Option(min=1, help="Steps in which the rate rises.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1)] = None,
    seed: Annotated[int | None, typer.Option()] = None,
    evaluate_every: Annotated[int | None, typer.Option(min=1, help="Steps between two evaluations.")] = None,
    judged: Annotated[int | None, typer.Option(min=1, help="Held-out sentences that are translated for it.")] = None,
    vocab: Annotated[int | None, typer.Option(min=1, help="Of a file: subwords a side (4,000).")] = None,
    bad: Annotated[str | None, typer.Option(help="Of a file: refuse or skip bad lines.")] = None,
    source: Annotated[int | None, typer.Option(help="Of a file: the source's column, from 0.")] = None,
    target: Annotated[int | None, typer.Option(help="Of a file: the target's column.")] = None,
    language: Annotated[str | None, typer.Option(help="Of a file: the target's, for BLEU (en, ko).")] = None,
):
    """Train a translator and keep it; called again, it goes on. COURSE_DEVICE names the device."""
    options = {name: value for name, value in locals().items() if name not in ("pairs", "output")}
    from course_lib import train_command

    if pairs is not None and not pairs.is_file():
        fail(f"there is no file {pairs}")
    raise typer.Exit(train_command.main(pairs, output, **options))


@app.command(context_settings=PASS_ON)
def experiment(context: typer.Context, name: Annotated[str, typer.Argument(help="Its name.")]):
    """Measure again what a lesson ships as a small JSON file. Other options go to the experiment."""
    from course_lib.data.published import WeightsMissing
    from course_lib.experiments import EXPERIMENTS

    with known():
        run = pick(name, EXPERIMENTS, "experiment")
    try:
        run(context.args)
    except (WeightsMissing, OSError) as error:  # OSError: its file cannot be written
        fail(str(error))


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="All if none is named.")] = None,
    as_json: AsJson = False,
    device: Annotated[
        str | None, typer.Option(help="Measure what computes, on cpu, cuda or mps; else everything, on the best one.")
    ] = None,
):
    """Measure speeds and memory on this machine, as one table: ratios taken in turn, with their targets."""
    from course_lib import bench_command
    from course_lib.device import pick_device

    benches = bench_command.found()
    with known():
        chosen = [pick(name, benches, "benchmark") for name in names] if names else list(benches.values())
    try:
        device = device and pick_device(device)
    except (ValueError, RuntimeError) as error:
        fail(str(error))
    raise typer.Exit(bench_command.main(chosen, as_json=as_json, device=device))


@app.command()
def weights(name: Annotated[str | None, typer.Argument(help="Which; the list of them if none is named.")] = None):
    """Fetch published weights that lessons can use, and check them; without a name, say which there are."""
    from course_lib import weights_command

    with known():
        chosen = pick(name, weights_command.PACKAGES, "package of weights") if name else None
    raise typer.Exit(weights_command.main(chosen))


@app.command()
def doctor():
    """Say what this machine has, and what to do where something is missing."""
    from course_lib import doctor as checks

    raise typer.Exit(checks.main())


@app.command(context_settings=PASS_ON)
def test(
    context: typer.Context,
    fast: Annotated[bool, typer.Option("--fast", help="Neither browser nor notebooks.")] = False,
):
    """Run every test. With arguments for pytest (say -k softmax): one run of pytest with them."""
    from course_lib import testing

    raise typer.Exit(testing.main(context.args, fast=fast))


add_commands(app)


def main():
    app(prog_name="course")
