"""Imports run one way. DESIGN order, lowest first; a module may import from its own level and from those below it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import course_lib

PACKAGE = Path(course_lib.__file__).parent
LEVELS = (
    {"device", "masks", "live_memory", "claims", "figures", "transformer_figure"},
    {"attention", "tiled_attention", "sparse_attention", "linear_attention", "positions", "data"},
    {"recurrent_cells", "recurrent", "recurrent_attention", "multi_head_attention", "layers"},
    {"torch_weights", "blocks", "embedding", "transformer", "encoder_only", "decoder_only"},
    {"evaluation", "generation", "scores", "training"},
    {
        "pronunciation",
        "sentence_encoder",
        "translation",
        "translation_task",
        "saved_model",
        "exercises",
        "explore",
        "experiments",
    },
    {"learner"},
    {"matrix_command", "train_command", "weights_command", "authoring", "grading"},
    {"bench", "bench_command", "doctor", "lab", "testing"},
    {"cli_support"},
    {"cli_instructor"},
    {"cli", "__main__"},
)
LEVEL = {name: number for number, names in enumerate(LEVELS) for name in names}
# What may be imported from the course, where the order alone would allow more.
ONLY = {
    "checking": {"checking"},
    "data": {"data"},
    "device": set(),
    "masks": set(),
    "claims": set(),
    "live_memory": set(),
    "attention": {"masks"},
    "tiled_attention": {"attention"},
    "sparse_attention": {"attention", "masks"},
    "linear_attention": {"attention"},
    "positions": {"masks"},
}


def sources():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def dotted(path):
    """("exercises", "lesson_00") for exercises/lesson_00/__init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported(path, tree):
    """Modules of the course that a file imports, at its top or in its functions, as tuples below course_lib."""
    package = dotted(path) if path.name == "__init__.py" else dotted(path)[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")[1:]) for name in node.names if name.name.startswith("course_lib."))
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                module = package[: len(package) - node.level + 1] + module
            elif module[:1] == ("course_lib",):
                module = module[1:]
            else:
                continue
            yield from (module + (name.name,) for name in node.names)


def at_the_top(tree):
    """The same tree without the bodies of functions: what runs on import."""
    body = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return ast.Module(body=body, type_ignores=[])


def edges():
    """(importing file, its top-level module, imported top-level module)."""
    for path, tree in sources().items():
        for module in imported(path, tree):
            if dotted(path) and module and (PACKAGE / module[0]).exists() | (PACKAGE / f"{module[0]}.py").exists():
                yield path.relative_to(PACKAGE).as_posix(), dotted(path)[0], module[0]


def test_every_module_has_its_place():
    names = {dotted(path)[0] for path in sources() if dotted(path)} - {"checking"}
    assert names <= set(LEVEL), f"give {sorted(names - set(LEVEL))} a level in this test"


def test_imports_run_one_way():
    wrong = [
        f"{file} imports {target}"
        for file, module, target in edges()
        if "checking" not in (module, target) and LEVEL[target] > LEVEL[module]
    ]
    assert wrong == []


def test_the_engine_and_the_data_know_no_model():
    wrong = [
        f"{file} imports {target}"
        for file, module, target in edges()
        if module in ONLY and target not in ONLY[module] | {module}
    ]
    assert wrong == []


def test_only_exercises_and_what_stands_above_use_the_engine():
    wrong = [
        f"{file} imports checking"
        for file, module, target in edges()
        if target == "checking" and module != "checking" and LEVEL[module] < LEVEL["exercises"]
    ]
    assert wrong == []


def test_no_circles():
    """Over single files, counting what runs when a module is imported."""
    graph = {}
    known = {dotted(path) for path in sources()}
    for path, tree in sources().items():
        found = set()
        for module in imported(path, at_the_top(tree)):
            found |= {one for one in (module, module[:-1]) if one in known and one != () and one != dotted(path)}
        # `from package.module import x` names the package too, which a module inside it always has
        graph[dotted(path)] = {one for one in found if one != dotted(path)[: len(one)]}
    state = {}

    def visit(module, trail):
        if state.get(module) == "done":
            return
        assert state.get(module) != "open", f"circle: {' -> '.join('.'.join(one) for one in [*trail, module])}"
        state[module] = "open"
        for target in sorted(graph[module]):
            visit(target, [*trail, module])
        state[module] = "done"

    for module in sorted(graph):
        visit(module, [])


def loaded_by(statement):
    """Modules of the course, and a few heavy ones, that a statement loads in a fresh Python."""
    code = f"{statement}\nimport sys; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_package_itself_is_lazy():
    loaded = loaded_by("import course_lib")
    assert "course_lib" in loaded
    assert not {name for name in loaded if name.startswith(("course_lib.", "torch", "numpy", "IPython"))}


def test_the_command_line_is_light():
    loaded = loaded_by("import course_lib.cli")
    assert "course_lib.cli" in loaded
    assert not loaded & {"torch", "numpy", "jupytext", "nbclient", "pytest", "matplotlib", "course_lib.exercises"}


@pytest.mark.parametrize("name", course_lib.__all__)
def test_exports_exist(name):
    assert callable(getattr(course_lib, name))


def test_an_unknown_export_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'chek'"):
        course_lib.chek  # noqa: B018
