"""Sentence pairs from any file with tabs between its columns (TSV), such as those of Tatoeba and ManyThings.

What a lesson needs is imported from here. Below it lie `pairs_text` (one line: read, made uniform, or refused),
`pairs_report` (what was found) and `pairs_split` (to train on, to judge by).
"""

from pathlib import Path
from typing import NamedTuple

from course_lib.data.pairs_report import BadPairs, Report
from course_lib.data.pairs_split import Split, split_pairs
from course_lib.data.pairs_text import LineProblem, columns_of, decode_line, numbered_lines, tidy

__all__ = ["BadPairs", "LONGEST", "PairFile", "Report", "Split", "read_pairs", "split_pairs", "tidy"]

LONGEST = 10_000  # bytes of a line; a sentence and its translation have some hundreds


class PairFile(NamedTuple):
    """A file that was read. pairs: list of (source, target). rest: the other columns of each pair, a tuple of strings.

    Tatoeba's third column names the authors, as its licence asks for. report: a `Report`; print it.

    >>> found = PairFile([("Go!", "가!")], [("CC-BY 2.0",)], Report("pairs.tsv", lines=1, kept=1))
    >>> print(found.report)
    pairs.tsv: 1 lines read, 1 pairs kept, 0 lines skipped
    """

    pairs: list
    rest: list
    report: Report


def read_pairs(path, *, source=0, target=1, bad="refuse", duplicates="drop", longest=LONGEST):
    r"""Read a UTF-8 file, one pair a line, columns parted by tabs. Returns a `PairFile`.

    source, target: the columns, counted from 0. Text comes out in NFC with plain single spaces (`tidy`); a byte order
    mark and CRLF are no matter; quotes are text. Blank lines are counted.
    bad: "refuse" raises BadPairs for the first bad line, "skip" leaves bad lines out and counts them in the report. Bad
    is: more than `longest` bytes, not UTF-8, a control character, too few columns, an empty source or target.
    duplicates: "drop" or "keep" the same pair again; both count it.
    Raises BadPairs where no pair is left, and where most pairs have the same text on both sides; OSError where the file
    cannot be read, ValueError for other arguments.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.tsv")
    ...     _ = path.write_text("Go!\t가!\n\nno tab\n", encoding="utf-8")
    ...     found = read_pairs(path, bad="skip")
    >>> found.pairs, found.report.blank.lines, found.report.skipped["too few columns"].lines
    ([('Go!', '가!')], [2], [3])
    """
    _check(source, target, bad, duplicates, longest)
    report = Report(Path(path).name)
    pairs, rest, seen = [], [], set()
    with open(path, "rb") as file:
        for number, line in numbered_lines(file, longest):
            report.lines = number
            try:
                if line is None:
                    raise LineProblem("too long", f"more than {longest:,} bytes. Is an end of a line missing?")
                text = decode_line(line)
                if not text.strip():
                    report.blank.add(number)
                    continue
                *both, others = columns_of(text, source, target)
            except LineProblem as problem:
                if bad == "refuse":
                    message = f'{report.name}, line {number}: {problem} (bad="skip" would read on without it)'
                    raise BadPairs(message, number, problem.reason) from None
                report.skip(problem.reason, number, str(problem))
                continue
            pair = tuple(both)
            if pair in seen:
                report.duplicates.add(number)
                if duplicates == "drop":
                    report.skip("duplicate", number)
                    continue
            seen.add(pair)
            if pair[0] == pair[1]:
                report.same.add(number)
            pairs.append(pair)
            rest.append(others)
            report.kept += 1
    if not pairs:
        raise BadPairs(f"{report.name} has no usable line. {report if report.lines else 'It is empty'}")
    if 2 * report.same.count > len(pairs):
        raise BadPairs(
            f"{report.name}: in {report.same.count:,} of {len(pairs):,} pairs source and target are the same text "
            f"({report.same}). Does the file hold one language only?",
            report.same.lines[0],
        )
    return PairFile(pairs, rest, report)


def _check(source, target, bad, duplicates, longest):
    for name, column in (("source", source), ("target", target)):
        if not isinstance(column, int) or column < 0:
            raise ValueError(f"{name}: expected a column, counted from 0, got {column!r}")
    if source == target:
        raise ValueError(f"source and target: expected two columns, got {source} for both")
    if bad not in ("refuse", "skip"):
        raise ValueError(f'bad: expected "refuse" or "skip", got {bad!r}')
    if duplicates not in ("drop", "keep"):
        raise ValueError(f'duplicates: expected "drop" or "keep", got {duplicates!r}')
    if longest < 1:
        raise ValueError(f"longest: expected at least 1 byte, got {longest}")
