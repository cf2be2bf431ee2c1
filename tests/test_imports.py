"""The models import with torch alone, so they run wherever torch runs."""

import subprocess
import sys

import pytest

ALLOWED = ("torch", "course_lib")
SCRIPT = """
import importlib.abc, sys, torch

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {allowed}:
            raise ImportError(f"{{name}} is not torch")

for name in list(sys.modules):
    if name.partition(".")[0] in {blocked}:
        del sys.modules[name]
sys.meta_path.insert(0, Refuse())
import {module}
"""
BLOCKED = ("numpy", "matplotlib", "tqdm", "IPython", "babel", "yaml", "ipywidgets", "rich", "typer")


ALONE = ["device", "masks", "attention", "positions", "multi_head_attention"]
ALONE += ["tiled_attention", "sparse_attention", "linear_attention", "live_memory"]
ALONE += ["recurrent_cells", "recurrent", "recurrent_attention"]
ALONE += ["layers", "blocks", "torch_weights", "embedding", "transformer", "encoder_only", "decoder_only"]
ALONE += ["generation"]
ALONE += ["training.schedules", "training.checkpoints", "training"]
ALONE += ["data.pairs", "scores"]


@pytest.mark.parametrize("module", ALONE)
def test_imports_with_torch_alone(module):
    script = SCRIPT.format(allowed=ALLOWED, blocked=BLOCKED, module=f"course_lib.{module}")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
