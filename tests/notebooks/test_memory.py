"""Peak memory of a kernel: measured under --nbval, after the last cell, where each solution notebook runs in CI."""

import subprocess
import sys
import time

import pytest

from course_lib.authoring.kernel import peak_memory
from course_lib.authoring.notebook_items import MEMORY_GB

from ..authoring.probes import CHECK, answer, book, check, code, run, write

needs_peak = pytest.mark.skipif(sys.platform == "darwin", reason="macOS tells no process the peak of another")
GREEDY = f"held = b'x' * {int(MEMORY_GB * 1.1e9)}\ndel held"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    setup, cells = code(CHECK, outputs=""), (answer("alpha"), check("alpha"))
    write(folder, "small", book(setup, *cells))
    write(folder, "greedy", book(setup, code(GREEDY), *cells))
    write(folder, "dead", book(setup, code("import os; os._exit(0)"), exercises=()))
    write(folder, "prose", book(exercises=()))
    return run(folder, "--nbval")


def test_a_small_notebook_passes_and_the_table_shows_its_peak(measured):
    _, books, printed, _ = measured
    row = books["small"]["memory"]
    assert row["passed"] and 0.02 < float(row["status"].removesuffix(" GB")) < 0.5
    assert f"✓ small.ipynb  {row['status']}" in printed.partition(" peak memory ")[2]


@needs_peak
def test_too_much_fails_though_it_was_given_back_and_every_cell_passed(measured):
    status, books, printed, _ = measured
    *cells, memory = books["greedy"].values()
    assert status == 1 and all(row["passed"] for row in cells) and not memory["passed"]
    assert float(memory["status"].removesuffix(" GB")) > MEMORY_GB
    assert "1.0 GB is the most" in memory["message"] and "✗ greedy.ipynb" in printed


def test_a_kernel_that_is_gone_was_not_measured_and_that_is_no_pass(measured):
    row = measured[1]["dead"]["memory"]
    assert not row["passed"] and row["status"] == "not measured" and "gone" in row["message"]


def test_a_notebook_without_code_has_no_kernel_to_measure(measured):
    assert "prose" not in measured[1]


def test_only_strict_runs_measure(tmp_path):
    write(tmp_path, "small", book(code(CHECK), answer("alpha"), check("alpha")))
    status, books, printed, _ = run(tmp_path, "--nbval-lax")
    assert status == 0 and "memory" not in books["small"] and "peak memory" not in printed


@pytest.mark.skipif(sys.platform != "linux", reason="known on Linux alone")
def test_the_limit_is_for_machines_without_a_gpu(tmp_path):
    """A kernel counts as one on a GPU if it has CUDA's driver in memory: here a file of that name."""
    driver = tmp_path / "libcuda.so.1"
    driver.write_bytes(bytes(4096))
    load = f"import mmap; file = open({str(driver)!r}, 'r+b'); loaded = mmap.mmap(file.fileno(), 0)"
    write(tmp_path, "greedy", book(code(load), code(GREEDY), exercises=()))
    status, books, printed, _ = run(tmp_path, "--nbval")
    row = books["greedy"]["memory"]
    assert status == 0 and row["passed"] and row["status"].endswith(" GB with CUDA"), printed


@needs_peak
def test_the_peak_of_a_process_stays_when_its_memory_is_given_back():
    program = "x = b'x' * 300_000_000; del x; print('ready', flush=True); input()"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        process.stdout.readline()
        assert 0.3 < peak_memory(process.pid) < 0.4
        process.stdin.write(b"\n")
        process.stdin.close()
        process.stdout.read()  # until it ends; nobody has waited for it yet
        deadline = time.monotonic() + 10
        while peak_memory(process.pid) is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert peak_memory(process.pid) is None
    assert peak_memory(process.pid) is None
