"""Docstrings that teach: every example runs, and what a learner imports has one, with the shapes of its tensors."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest
import torch

import course_lib

PACKAGE = Path(course_lib.__file__).parent
# What learners import, as modules and packages of course_lib: everything public in them has an example.
TAUGHT = (
    "attention", "blocks", "claims", "decoder_only", "device", "embedding", "encoder_only", "evaluation", "figures",
    "generation", "layers", "linear_attention", "live_memory", "masks", "multi_head_attention", "positions",
    "pronunciation", "recurrent", "recurrent_attention", "recurrent_cells", "saved_model", "scores", "sentence_encoder",
    "sparse_attention", "tiled_attention", "torch_weights", "transformer", "translation", "translation_task",
    "data", "training", "checking.exercise",
)  # fmt: skip
# What has no such duty, and why. An example there runs all the same. A module in a package may differ from its package.
OTHERS = {
    "checking": "the engine; authors write with `checking.exercise`, and take `laws` as other exercises do",
    "explore": "widgets: what they show is seen, not printed",
    "learner": "`check`, `hint` and their like speak of the notebook that they are called in",
    "exercises": "their docstrings are the learner's task, and the same word for word in the notebooks",
    "experiments": "run by `course experiment`, for minutes",
    "transformer_figure": "one picture of one lesson",
    "authoring": "for authors, by way of the command line",
    "grading": "for instructors, by way of the command line",
    **dict.fromkeys(("bench", "bench_command", "cli", "cli_instructor", "cli_support", "doctor", "lab", "testing",
                     "matrix_command", "train_command", "weights_command", "__main__"), "the command line"),
}  # fmt: skip
WITHOUT_EXAMPLE = {
    "course_lib.data.g2p.load_g2p": "reads published weights, which CI never has",
    "course_lib.data.g2p.g2p_words": "reads a file of the same package",
    "course_lib.data.minilm.load_minilm": "reads published weights, which CI never has",
    "course_lib.training.live_curve.LiveCurve": "draws in a notebook while a model trains",
    "course_lib.training.processes.loss_together": "needs several processes that have met",
    "course_lib.sentence_encoder.load_sentence_encoder": "reads 84 MB of published weights, which CI never has",
}
# Modules of text, files and settings.
NO_TENSORS = tuple(
    """checking.exercise data.dates data.g2p data.korean data.korean_choices data.korean_forms data.korean_grammar
    data.korean_text data.korean_words data.korean_writing data.minilm data.numbers data.pairs data.pairs_report
    data.pairs_split data.pairs_text data.published data.subwords data.symbols data.vocabulary data.wordpiece
    training.checkpoints training.interrupts training.live_curve training.precision training.progress_bar
    training.resuming training.schedules""".split()
)
# Functions of no tensors, or of tensors that stay inside what is handed on.
WITHOUT_SHAPES = {
    "claims": ("claim", "smoke_mode"),
    "data.batches": ("encode_pairs",),
    "device": ("pick_device",),
    "embedding": ("position_module", "rotary_of"),
    "figures": ("hangul_fonts", "panels", "png", "show", "style"),
    "generation.beam_search": ("length_penalty",),
    "generation.greedy_search": ("require_length",),
    "generation.writing": ("evaluating",),
    "pronunciation": ("pronounce",),
    "saved_model": ("load_model", "model_folder", "save_model"),
    "scores": ("bleu", "chrf"),
    "sentence_encoder": ("encoder_from_bert", "load_sentence_encoder"),
    "training.processes": ("is_late", "joined", "loss_together", "this_process"),
    "training.randomness": ("seeded", "set_random_state"),
    "training.loop": ("fit",),
    "torch_weights": ("block_from_torch", "block_to_torch", "copy_stack", "settings_of", "stacks_to_torch"),
    "translation": ("translate",),
    "translation_task": ("grammar_task", "held_out_loss", "judge", "text_task"),
}
CALLED = ("encode", "forward", "look", "read", "remember", "select", "start", "step")  # methods that take tensors
OPTIONAL = ("dask", "joblib", "nbgrader", "safetensors")  # extras of pyproject.toml that a learner may lack
TERM = r"(?:\d*[A-Z][a-z]?|\d+|[a-z]\w*(?: [a-z]\w*)*)"  # B, Dk, 3D, 1, d_model, at most max_length
AXIS = rf"(?:\.\.\.|⌈[^⌉]+⌉|{TERM}(?: ?[·/+-] ?{TERM})*)"
SHAPE = re.compile(rf"\((?=\.\.\.|[^()]*\b\d*[A-Z])(?:\.\.\.|{AXIS},|{AXIS}(?:, {AXIS})+)\)")


def dotted(path):
    """course_lib.generation for generation/__init__.py."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_taught(name):
    own = name.partition(".")[2]
    return own in TAUGHT or (own not in OTHERS and own.partition(".")[0] in TAUGHT)


MODULES = {dotted(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
WITH_EXAMPLES = [name for name, text in MODULES.items() if ">>>" in text]
TAUGHT_MODULES = [name for name in MODULES if is_taught(name)]
WITH_TENSORS = [name for name in TAUGHT_MODULES if name.partition(".")[2] not in NO_TENSORS]


def load(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OPTIONAL:
            raise
        pytest.skip(f"{error.name} is not installed")


def examples(module):
    """{qualified name: its example}, as doctest finds them: what it does not find here is not run either."""
    found = doctest.DocTestFinder(exclude_empty=True).find(module)
    return {test.name: test for test in found if test.examples}


def public(module):
    """(qualified name, object) of the functions and classes that the module itself makes and does not hide."""
    for name, value in vars(module).items():
        made_here = getattr(value, "__module__", None) == module.__name__
        if (
            made_here
            and not name.startswith("_")
            and (inspect.isclass(value) or inspect.isroutine(inspect.unwrap(value)))
        ):
            yield f"{module.__name__}.{name}", value


def functions(module):
    """Those of `public` that are no classes."""
    return [(name, value) for name, value in public(module) if not inspect.isclass(value)]


def methods(cls):
    """(name, value) of the public methods and properties that a class itself makes."""
    for name, value in vars(cls).items():
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
            yield name, value


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_example_runs(name, monkeypatch):
    for variable in ("COURSE_DEVICE", "COURSE_SMOKE"):
        monkeypatch.delenv(variable, raising=False)
    runner = doctest.DocTestRunner()
    for test in examples(load(name)).values():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            runner.run(test)
    assert runner.tries and not runner.failures, "doctest has said above which one, what it expected and what came"


def test_every_module_has_been_thought_of():
    names = {name.split(".")[1] for name in MODULES if "." in name}
    assert not set(TAUGHT) & set(OTHERS)
    inside = {name for name in (*TAUGHT, *OTHERS) if "." in name}
    assert names == {*TAUGHT, *OTHERS} - inside, "put a new module into TAUGHT, or into OTHERS with the reason"
    assert {f"course_lib.{name}" for name in inside} <= set(MODULES)


def test_no_exception_outlives_its_reason():
    for name in WITHOUT_EXAMPLE:
        module, _, attribute = name.rpartition(".")
        assert name not in examples(load(module)) and hasattr(load(module), attribute)
    every = {module: [name.rpartition(".")[2] for name, _ in functions(load(f"course_lib.{module}"))]
             for module in NO_TENSORS}  # fmt: skip
    for module, names in (WITHOUT_SHAPES | every).items():
        for name in names:
            assert not SHAPE.search(inspect.getdoc(getattr(load(f"course_lib.{module}"), name)).partition(">>>")[0]), (
                name
            )


@pytest.mark.parametrize("name", TAUGHT_MODULES)
def test_what_is_public_has_an_example(name):
    module = load(name)
    have = examples(module)
    missing = [name for name, _ in public(module) if name not in have and name not in WITHOUT_EXAMPLE]
    assert not missing, "these need a short example in their docstring"


@pytest.mark.parametrize("name", WITH_TENSORS)
def test_functions_name_the_shapes_of_their_tensors(name):
    module = load(name)
    without = WITHOUT_SHAPES.get(name.partition(".")[2], ())
    missing = [
        name
        for name, value in functions(module)
        if name.rpartition(".")[2] not in without
        and not SHAPE.search((inspect.getdoc(value) or "").partition(">>>")[0])
    ]
    assert not missing, "these name no shape such as (B, T, D) before their example"


@pytest.mark.parametrize("name", TAUGHT_MODULES)
def test_methods_have_a_docstring_and_those_of_a_model_name_shapes(name):
    for path, cls in public(load(name)):
        for method, value in methods(cls) if inspect.isclass(cls) else ():
            text = inspect.getdoc(value)
            assert text, f"{path}.{method} has no docstring"
            if method in CALLED and name in WITH_TENSORS and len(inspect.signature(value).parameters) > 1:
                assert SHAPE.search(text.partition(">>>")[0]), f"{path}.{method} names no shape"
