"""The copy of the course's library that a graded answer may use: no exercises, no engine, no twins of the answers."""

import ast
import shutil
from pathlib import Path

import course_lib

# Left out of the copy: what holds answers, checks them, or serves the command line.
LEFT_OUT = {
    "exercises", "authoring", "__pycache__", "__main__.py", "bench.py", "cli.py", "doctor.py", "lab.py", "learner.py",
    "matrix_command.py", "testing.py", "train_command.py", "weights_command.py",
}  # fmt: skip
# Of the engine and of grading, what the worker itself needs: it holds no secret.
WORKER = {
    "checking": {
        "compare.py",
        "describe.py",
        "locks.py",
        "modules.py",
        "observe.py",
        "remote.py",
        "store.py",
        "tree.py",
    },
    "grading": {"inside"},
}
# An exercise's twins in the library that go by other names; those of the same name are found by it.
FUSED = ("scaled_dot_product_attention", "tiled_attention", "window_attention", "block_sparse_attention")
TWINS = {
    "encode": ("Encoder",),
    "greedy_decode": ("greedy", "follow"),
    "bahdanau_step": ("BahdanauDecoder",),
    "luong_step": ("LuongDecoder",),
    "soft_lookup": FUSED,
    "masked_attention": FUSED,
    "self_attention": FUSED,
    "cross_attention": FUSED,
    "scaled_dot_product_attention": FUSED,
    "multi_head_attention": ("MultiHeadAttention",),
    "sinusoidal_encoding": ("SinusoidalEncoding",),
    "learned_positions": ("LearnedPositions",),
    "feed_forward": ("FeedForward",),
    "layer_norm": ("LayerNorm",),
    "residual": ("Residual",),
    "encoder_block": ("EncoderBlock",),
    "decoder_block": ("DecoderBlock",),
    "transformer_forward": ("Transformer",),
    "greedy_search": ("greedy", "follow"),
    "beam_search": ("beam",),
    "sample_next": ("sample", "draw", "probabilities"),
    "corpus_bleu": ("bleu",),
    "classify": ("EncoderOnly",),
}
VERBS = "from course_lib.grading.inside.verbs import *\n"  # the place of `learner.py`
REFUSAL = "{name}: the course's own version is not available while yours is graded"


def make_library(folder, exercises):
    """Copy the library into `folder`/course_lib, with the twins of these exercises cut out. Returns its path."""
    source, target = Path(course_lib.__file__).parent, Path(folder, "course_lib")
    shutil.copytree(source, target, ignore=_left_out(source))
    (target / "learner.py").write_text(VERBS, encoding="utf-8")
    for package in WORKER:
        (target / package / "__init__.py").write_text("", encoding="utf-8")
    blocked = {name for exercise in exercises for name in (exercise, *TWINS.get(exercise, ()))}
    for path in target.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in blocked):
            path.write_text(without(text, blocked), encoding="utf-8")
    return target


def _left_out(root):
    def ignore(folder, names):
        inside = Path(folder).relative_to(root).parts
        if not inside:
            return LEFT_OUT.intersection(names)
        if len(inside) == 1 and inside[0] in WORKER:
            return set(names) - WORKER[inside[0]]
        return {"__pycache__"}.intersection(names)

    return ignore


def without(source, blocked):
    """The source of a module in which functions and classes of these names raise NotAvailableWhileGraded.

    A module that defines none of them stays as it is, byte for byte.
    """
    tree = ast.parse(source)
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name in blocked]
    if not found:
        return source
    for node in found:
        refusal = REFUSAL.format(name=node.name)
        body = f"from course_lib.learner import NotAvailableWhileGraded\nraise NotAvailableWhileGraded({refusal!r})"
        if isinstance(node, ast.ClassDef):
            stub = ast.parse("def __init__(self, *arguments, **options):\n    pass").body[0]
            node.body, stub.body = [stub], ast.parse(body).body
        else:
            node.body = ast.parse(body).body
        node.decorator_list = []
    return ast.unparse(ast.fix_missing_locations(tree))
