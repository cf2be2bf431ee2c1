"""Small clones of the repository whose course.py runs with stubs of venv and pip.

The environments are real but empty. `venv` and `pip` are stubs on PYTHONPATH, so nothing is downloaded.
"""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOOTSTRAP = ROOT / "course.py"
posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
VENV = """
import os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path = [entry for entry in sys.path if os.path.abspath(entry) != here]
del sys.modules["__main__"]
import venv
venv.EnvBuilder(clear="--clear" in sys.argv, symlinks=os.name != "nt").create(sys.argv[-1])
"""
PIP = """
import json, os, sys, sysconfig, time
if __name__ == "__main__":
    with open(os.environ["PIP_CALLS"], "a", encoding="utf-8") as log:
        log.write(json.dumps(sys.argv[1:]) + chr(10))
    print("pip at work", flush=True)
    time.sleep(float(os.environ.get("PIP_TAKES", 0)))
    if os.environ.get("PIP_SAYS"):
        sys.exit(os.environ["PIP_SAYS"])
    with open(os.path.join(sysconfig.get_path("purelib"), "course.pth"), "w", encoding="utf-8") as pth:
        pth.write(os.getcwd())
"""
COURSE = "import sys; print('ran', *sys.argv[1:]); sys.exit(7)"


def heed_ctrl_c():
    """A shell starts what runs in its background with Ctrl-C ignored, and all below these tests would ignore it too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Clone:
    """A small copy of the repository, with stubs of venv and pip."""

    def __init__(self, folder):
        self.root = folder / "강의 copy"
        for name, text in {
            "pyproject.toml": "[project]\n",
            "constraints.txt": "torch==2.13.0\n",
            "binder/requirements.txt": "# CPU\n--extra-index-url https://index.invalid/cpu\ntorch\n",
            "course_lib/__init__.py": "",
            "course_lib/__main__.py": COURSE,
        }.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        shutil.copy(BOOTSTRAP, self.root)
        self.stubs = folder / "stubs"
        self.stubs.mkdir()
        (self.stubs / "venv.py").write_text(VENV)
        (self.stubs / "pip.py").write_text(PIP)
        self.log = folder / "calls"
        self.venv = self.root / ".venv"
        self.elsewhere = folder

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [sys.executable, self.root / "course.py", *arguments],
            cwd=self.elsewhere,
            env={**os.environ, "PYTHONPATH": str(self.stubs), "PIP_CALLS": str(self.log), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=heed_ctrl_c if os.name == "posix" else None,
        )

    def run(self, *arguments, **environment):
        """(exit status, stdout, stderr)"""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def pip_calls(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def site_packages(self):
        return next(self.venv.rglob("site-packages"))


def bootstrap(root):
    """course.py of a clone as a module."""
    spec = importlib.util.spec_from_file_location("bootstrap", root / "course.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
