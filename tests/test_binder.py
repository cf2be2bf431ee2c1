"""Binder: repo2docker takes the folder for Python and renders a Dockerfile, and the server there is set up as meant."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from course_lib.authoring.catalogue import repo_root
from course_lib.figures import HANGUL

BINDER = repo_root() / "binder"
SERVER = json.loads((BINDER / "jupyter_server_config.json").read_text(encoding="utf-8"))


@pytest.fixture
def build_pack(monkeypatch):
    """The first of repo2docker's build packs that takes the repository, as its command picks it. No Docker is used."""
    app = pytest.importorskip("repo2docker.app", reason="needs jupyter-repo2docker: pip install -e .[dev]")
    monkeypatch.chdir(repo_root())
    made = app.Repo2Docker()
    packs = [kind(made.base_image) for kind in made.buildpacks]
    picked = next(pack for pack in packs if pack.detect())
    picked.platform = "linux/amd64"
    return picked


def test_the_python_build_pack_takes_the_folder(build_pack):
    assert type(build_pack).__name__ == "PythonBuildPack"
    assert build_pack.binder_dir == "binder"
    assert build_pack.python_version == "3.11"


def test_the_dockerfile_installs_in_the_right_order(build_pack):
    rendered = build_pack.render({})
    lines = [line.strip() for line in rendered.splitlines()]
    packages = next(number for number, line in enumerate(lines) if line.endswith('-r "binder/requirements.txt"'))
    steps = [
        next(number for number, line in enumerate(lines) if "fonts-nanum" in line),
        lines.index("COPY --chown=1000:1000 src/ ${REPO_DIR}/"),  # the constraints lie outside binder/
        packages,
        lines.index("RUN ./binder/postBuild"),
    ]
    assert steps == sorted(steps)
    assert "linux-64" in rendered and "buildpack-deps" in rendered


def test_torch_comes_from_the_cpu_index_in_the_pinned_version():
    requirements = (BINDER / "requirements.txt").read_text(encoding="utf-8")
    lines = [line for line in requirements.splitlines() if line and not line.startswith("#")]
    index, *rest = lines
    assert index.startswith("--extra-index-url https://") and index.endswith("/whl/cpu")
    assert rest == ["-c ../constraints.txt", "torch"]
    assert re.search(r"^torch==[\d.]+$", (repo_root() / "constraints.txt").read_text(encoding="utf-8"), re.M)


def test_the_font_is_one_that_the_figures_use():
    assert (BINDER / "apt.txt").read_text().split() == ["fonts-nanum"]
    assert "NanumGothic" in HANGUL


@pytest.mark.skipif(os.name == "nt", reason="Binder runs Linux")
def test_post_build_uses_the_network_through_pip_alone(tmp_path):
    """Run it with a python that notes its arguments, and a PATH that has nothing else but what it may use."""
    programs, prefix = tmp_path / "bin", tmp_path / "prefix"
    programs.mkdir()
    for name in ("bash", "install", "mkdir"):
        (programs / name).symlink_to(shutil.which(name))
    notes = tmp_path / "calls.txt"
    python = programs / "python"
    python.write_text(f'#!{shutil.which("bash")}\necho "$*" >> "{notes}"\n[ "$1" = -c ] && echo "{prefix}" || true\n')
    python.chmod(0o755)
    done = subprocess.run(
        [BINDER / "postBuild"], cwd=repo_root(), env={"PATH": str(programs)}, capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    pip, ask = notes.read_text().splitlines()
    assert pip == "-m pip install --no-cache-dir -c constraints.txt -e ."
    assert ask == "-c import sys; print(sys.prefix)"
    written = prefix / "etc" / "jupyter" / "jupyter_server_config.json"
    assert json.loads(written.read_text()) == SERVER


def test_a_server_with_this_file_culls_idle_kernels_and_shows_hidden_files(tmp_path):
    """Ask a server that finds the file where postBuild puts it: an unknown name in it would be ignored in silence."""
    folder = tmp_path / "etc" / "jupyter"
    folder.mkdir(parents=True)
    shutil.copy(BINDER / "jupyter_server_config.json", folder)
    program = (
        "import json; from jupyter_server.serverapp import ServerApp\n"
        "app = ServerApp(); app.initialize(argv=[], find_extensions=False, new_httpserver=False)\n"
        "kernels = app.kernel_manager\n"
        "names = ('cull_idle_timeout', 'cull_interval', 'cull_connected', 'cull_busy')\n"
        "found = {name: getattr(kernels, name) for name in names}\n"
        "print(json.dumps(found | {'allow_hidden': app.contents_manager.allow_hidden}))\n"
    )
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "RUNTIME", "DATA")}
    environment = {**os.environ, **own, "JUPYTER_CONFIG_PATH": str(folder), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert 600 <= found["cull_idle_timeout"] <= 3600 and 0 < found["cull_interval"] <= 300
    assert found["cull_connected"] and not found["cull_busy"] and found["allow_hidden"]
