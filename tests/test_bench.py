"""`course bench`: it finds its files, measures in turn, prints one table or JSON; nothing measured is no success."""

import json
import statistics

import pytest
import torch

from course_lib import bench, bench_command

SPEED = """'''How fast.'''
from course_lib import bench
def main(device):
    yield bench.figures([1.0, 1.23456, 2.0], what='a step', size='small', unit='s', target=bench.Target(at_most=1.5))
    yield bench.figures([0.5], what='a leap', size=str(device), unit='s', target=bench.Target(at_least=0.7))
"""
TOOLS = """'''How long tools take.'''
from course_lib import bench
def main():
    yield bench.figures([120.0], what='a tool', size='', unit='s')
"""


@pytest.fixture
def benchmarks(tmp_path):
    (tmp_path / "speed.py").write_text(SPEED)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "_shared.py").write_text("")
    return bench_command.found(tmp_path)


def test_bench_finds_its_files(benchmarks):
    assert list(benchmarks) == ["speed", "tools"]


def test_all_benchmarks_make_one_table(benchmarks, capsys):
    assert bench_command.main(benchmarks.values()) == 0
    said = capsys.readouterr()
    [step] = [line for line in said.out.splitlines() if "a step" in line]
    assert "1.23 s" in step and "1.12 – 1.62" in step and "≤ 1.5 ✓" in step
    assert said.out.count("┏") == 1 and "a tool" in said.out and f"torch {torch.__version__}" in said.out
    assert "1 of 2 targets met; missed: a leap" in said.out
    assert "speed: How fast." in said.err and "tools" in said.err


def test_json_has_every_figure_unrounded(benchmarks, capsys):
    assert bench_command.main(benchmarks.values(), as_json=True) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["machine"] == bench.machine()
    step, leap, tool = result["rows"]
    assert (step["benchmark"], step["figure"], step["target"], step["met"]) == ("speed", 1.23456, "≤ 1.5", True)
    assert leap["met"] is False and tool["target"] is None and tool["met"] is None


def test_a_device_leaves_out_what_does_not_compute_on_one(benchmarks, capsys):
    assert bench_command.main(benchmarks.values(), as_json=True, device=torch.device("cpu")) == 0
    assert {row["benchmark"] for row in json.loads(capsys.readouterr().out)["rows"]} == {"speed"}
    assert bench_command.main([benchmarks["tools"]], device=torch.device("cpu")) == 1
    assert bench_command.main([]) == 1


def test_a_benchmark_that_fails_loses_no_figure(benchmarks, tmp_path, capsys):
    (tmp_path / "broken.py").write_text(SPEED + "    raise RuntimeError('no more')\n")
    assert bench_command.main([tmp_path / "broken.py", benchmarks["tools"]], as_json=True) == 1
    said = capsys.readouterr()
    assert [row["what"] for row in json.loads(said.out)["rows"]] == ["a step", "a leap", "a tool"]
    assert "RuntimeError: no more" in said.err


def test_what_each_benchmark_of_the_course_is():
    for path in bench_command.found().values():
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""') and "\ndef main(" in text or "\n@torch.no_grad()\ndef main(" in text, path


@pytest.fixture
def clock(monkeypatch):
    now, calls = [0.0], []
    monkeypatch.setattr(bench.time, "perf_counter", lambda: now[0])

    def takes(name, factor):
        def step():
            calls.append(name)
            now[0] += factor * (1 + calls.count(name))

        return step

    takes.calls = calls
    return takes


def test_two_functions_are_timed_in_turn(clock):
    """Each measured pair is of another length, so that only a median of ratios gives 3."""
    about = {"what": "a step", "size": "small", "beside": "theirs"}
    row = bench.compare(clock("theirs", 3.0), clock("ours", 1.0), pairs=5, warm_up=2, **about)
    assert clock.calls == ["theirs", "ours"] * 3 + ["ours", "theirs", "theirs", "ours"] * 2
    assert (row.figure, row.low, row.high, row.unit, row.rounds) == (3.0, 3.0, 3.0, "×", 5)
    assert (row.theirs, row.ours, row.each) == (18_000.0, 6_000.0, "ms")


def test_spread_is_median_and_quartiles():
    values = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert bench.spread(values) == (3.0, 2.0, 4.0) == (statistics.median(values), 2.0, 4.0)
    assert bench.spread([7.0]) == (7.0, 7.0, 7.0)


@pytest.mark.parametrize(
    ("target", "met", "missed", "said"),
    [(bench.Target(at_least=1.15), 1.15, 1.149, "≥ 1.15"), (bench.Target(at_most=0.5), 0.5, 0.501, "≤ 0.5")],
)
def test_a_target_counts_unrounded(target, met, missed, said):
    assert target.met(met) and not target.met(missed) and str(target) == said


def test_memory_is_compared_by_what_is_alive_at_once():
    def holds(numbers):
        return lambda: torch.zeros(numbers)

    row = bench.compare_memory(holds(1 << 20), holds(1 << 18), what="zeros", size="", beside="more")
    assert (row.figure, row.theirs, row.ours, row.each) == (4.0, 4.0, 1.0, "MiB")


@pytest.mark.parametrize(("value", "said"), [(0.0447, "0.0447"), (1.0, "1.00"), (99.96, "100"), (2517.3, "2517")])
def test_numbers_have_three_digits_that_count(value, said):
    assert bench_command.number(value) == said


def test_markdown_has_the_rows_with_a_target(benchmarks, capsys):
    bench_command.main(benchmarks.values(), as_json=True)
    lines = bench_command.markdown(json.loads(capsys.readouterr().out)["rows"]).splitlines()
    assert len(lines) == 4 and all(line.count("|") == 10 for line in lines)
    assert "a step" in lines[2] and "0.7 ✗" in lines[3]
