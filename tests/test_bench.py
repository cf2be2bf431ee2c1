"""`course bench`: it finds its files, prints a table or JSON, and nothing found is no success."""

import json

import pytest

from course_lib import bench


@pytest.fixture
def benchmarks(tmp_path):
    (tmp_path / "speed.py").write_text("'''How fast.'''\ndef main():\n    return [{'what': 'a', 'ratio': 1.23456}]\n")
    (tmp_path / "_shared.py").write_text("")
    return bench.found(tmp_path)


def test_bench_finds_its_files(benchmarks):
    assert list(benchmarks) == ["speed"]


def test_bench_prints_a_table_or_json(benchmarks, capsys):
    assert bench.main(benchmarks.values()) == 0
    table = capsys.readouterr().out
    assert "How fast." in table and "1.23 " in table and "torch" in table
    assert bench.main(benchmarks.values(), as_json=True) == 0
    [one] = json.loads(capsys.readouterr().out)["benchmarks"]
    assert one == {"name": "speed", "title": "How fast.", "rows": [{"what": "a", "ratio": 1.23456}]}


def test_bench_without_files_is_no_success(capsys):
    assert bench.main([]) == 1


def test_two_functions_are_timed_in_turn(monkeypatch):
    """On a clock of our own; each measured pair is of another length, so that only a median of ratios gives 3."""
    now, calls = [0.0], []
    monkeypatch.setattr(bench.time, "perf_counter", lambda: now[0])

    def takes(name, factor):
        def step():
            calls.append(name)
            now[0] += factor * (1 + calls.count(name))

        return step

    row = bench.compare(takes("theirs", 3.0), takes("ours", 1.0), pairs=5, warm_up=2)
    assert calls == ["theirs", "ours"] * 7
    assert row == {"ratio": 3.0, "torch, ms": 18_000.0, "ours, ms": 6_000.0}
