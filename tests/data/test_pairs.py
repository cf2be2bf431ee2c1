"""Reading files of sentence pairs: what comes out, what is refused, and that nothing vanishes."""

import codecs
import tempfile
import time
import tracemalloc
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data.pairs import LONGEST, BadPairs, read_pairs, tidy
from course_lib.data.pairs_report import REASONS, SHOWN, Report

from .corpora import FILES, real_file

GOOD = "Go.\t가."
# name: (bytes of a bad line, its reason, what the message says)
BAD = {
    "no tab": ("Go. 가.".encode(), "too few columns", "one column, no tab in it; expected source in column 0"),
    "no source": ("\t가.".encode(), "empty field", "the source, column 0 counted from 0, is empty"),
    "no target": (b"Go.\t \xc2\xa0", "empty field", "the target, column 1 counted from 0, is empty"),
    "unseen target": ("Go.\t\u200b\u2060".encode(), "empty field", "the target, column 1 counted from 0, is empty"),
    "Latin-1": ("Go.\tÀ l'été".encode("latin-1"), "not UTF-8", r"byte 5 of the line \(0xC0\).*Latin-1.*reads .*été"),
    "Windows": ("Go.\t“là”".encode("cp1252"), "not UTF-8", r"byte 5 of the line \(0x93\).*Windows-1252.*reads .*“là”"),
    "CP949": (
        "Go.\t나는 너를".encode("cp949"),
        "not UTF-8",
        r"byte 5 of the line \(0xB3\).*CP949 it reads .*나는 너를",
    ),
    "one byte lost": ("나는 너를\t사".encode()[:-1], "not UTF-8", "byte 15 of the line .* it is damaged there"),
    "no text": (b"a\t\x81", "not UTF-8", r"byte 3 of the line \(0x81\) is not UTF-8: save the file as UTF-8"),
    "zip": (b"PK\x03\x04\x14\xff\x00a\tb", "not UTF-8", "a zip archive: unpack it first"),
    "gzip": (b"\x1f\x8b\x08\x00a\tb", "not UTF-8", "a gzip file: unpack it first"),
    "NUL": (b"Go\0.\tVa !", "control character", r"character 3 is U\+0000, a control character"),
    "old Mac": (b"Go.\tVa !\rHi.\tSalut !", "control character", r"character 9 is U\+000D.*lines end with CR alone"),
    "escape": (b"Go.\t\x1b[1mVa", "control character", r"character 5 is U\+001B"),
    "C1": ("Go.\tVa\x85".encode(), "control character", r"character 7 is U\+0085"),
    "lost letter": ("Go.\tV\ufffd".encode(), "control character", r"character 6 is U\+FFFD, which stands for a letter"),
    "long": (b"a\t" + b"b" * LONGEST, "too long", "more than 10,000 bytes. Is an end of a line missing"),
}


def write(folder, content):
    path = Path(folder) / "pairs.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_mark_and_ends_of_lines_do_not_matter(tmp_path, end, mark, last):
    lines = end.join(["Go.\t가.\tauthor 1", "", 'He said "Hi.\tIl a dit "Salut.\tauthor 2', " \t ", '"Hi."\t안녕.'])
    found = read_pairs(write(tmp_path, mark + lines + end * last))
    assert found.pairs == [("Go.", "가."), ('He said "Hi.', 'Il a dit "Salut.'), ('"Hi."', "안녕.")]
    assert found.rest == [("author 1",), ("author 2",), ()]
    assert (found.report.lines, found.report.kept, found.report.blank.lines) == (5, 3, [2, 4])


def test_a_mark_between_joined_files_is_no_letter(tmp_path):
    assert read_pairs(write(tmp_path, "\ufeffa\tb\n\ufeffc\td\n")).pairs == [("a", "b"), ("c", "d")]


def test_columns_are_chosen(tmp_path):
    path = write(tmp_path, "1\teng\tGo.\t9\tkor\t가.\n2\teng\tHi.\t8\tkor\t안녕.\n")
    found = read_pairs(path, source=5, target=2)
    assert found.pairs == [("가.", "Go."), ("안녕.", "Hi.")]
    assert found.rest[1] == ("2", "eng", "8", "kor")
    with pytest.raises(BadPairs, match="line 1: 6 columns; expected source in column 0 and target in column 6"):
        read_pairs(path, target=6)


def test_text_comes_out_in_nfc_with_plain_spaces(tmp_path):
    apart = unicodedata.normalize("NFD", "나는 너를 사랑해")
    assert len(apart) > len("나는 너를 사랑해")
    found = read_pairs(write(tmp_path, f"{apart}\t Quoi\u202f?\xa0 Bien  sûr. \n"))
    assert found.pairs == [("나는 너를 사랑해", "Quoi ? Bien sûr.")]


@given(st.text())
def test_tidy_is_settled_at_once(text):
    once = tidy(text)
    assert tidy(once) == once and unicodedata.is_normalized("NFC", once)
    assert once == once.strip() and "".join(once.split()) == "".join(unicodedata.normalize("NFC", text).split())


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_bad_line_is_named_and_refused_or_skipped(tmp_path, name, before):
    line, reason, message = BAD[name]
    good = [f"{GOOD} {number}".encode() for number in range(before + 2)]
    path = write(tmp_path, b"\n".join([*good[:before], line, *good[before:]]) + b"\n")
    with pytest.raises(BadPairs, match=f"^pairs.tsv, line {before + 1}: .*{message}") as caught:
        read_pairs(path)
    assert (caught.value.line, caught.value.reason) == (before + 1, reason)
    found = read_pairs(path, bad="skip")
    assert len(found.pairs) == before + 2 and list(found.report.skipped) == [reason]
    skipped = found.report.skipped[reason]
    assert (skipped.count, skipped.lines) == (1, [before + 1])
    assert f"skipped, {reason}: 1, line {before + 1} (" in str(found.report)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ["나는 너를\tyou\n가\tgo\n", "You go.\tVa !\nHi.\tSalut !\n"])
def test_utf_16_is_guessed_and_no_line_of_it_slips_through(tmp_path, encoding, text):
    path = write(tmp_path, text.encode(encoding))
    with pytest.raises(BadPairs, match=r"line 1: byte \d+ of the line .0x..\) is not UTF-8.*looks like UTF-16"):
        read_pairs(path)
    with pytest.raises(BadPairs, match="no usable line.*(?s:.*)looks like UTF-16"):
        read_pairs(path, bad="skip")


def test_the_named_byte_is_the_first_that_is_wrong(tmp_path):
    line = b"\xef\xbb\xbfGo.\tcaf\xe9"
    with pytest.raises(BadPairs, match=r"line 1: byte 11 of the line \(0xE9\).*reads '.*Go. café'"):
        read_pairs(write(tmp_path, line))
    assert line[10] == 0xE9 and line.startswith(codecs.BOM_UTF8)


def test_ten_megabytes_in_one_line(tmp_path):
    path = write(tmp_path, b"a\tb\n" + b"c\t" + b"x" * 10_000_000 + b"\nd\te\n")
    tracemalloc.start()
    start = time.perf_counter()
    found = read_pairs(path, bad="skip")
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.pairs == [("a", "b"), ("d", "e")] and found.report.skipped["too long"].lines == [2]
    assert peak < 1_000_000 and seconds < 1
    with pytest.raises(BadPairs, match="line 2: more than 10,000 bytes"):
        read_pairs(path)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("excess", range(-2, 5))
def test_the_length_is_counted_without_the_end_of_the_line(tmp_path, end, excess):
    path = write(tmp_path, b"a\t" + b"b" * (18 + excess) + end + (b"c\td" if end else b""))
    found = read_pairs(write(tmp_path, b"e\tf\n" + path.read_bytes()), longest=20, bad="skip")
    assert ("too long" in found.report.skipped) == (excess > 0)
    assert found.report.lines == 2 + bool(end)


@pytest.mark.parametrize("content", [b"", b"\n\r\n \n", b"\xef\xbb\xbf", b"Go.\nHi.\n"])
def test_a_file_without_a_pair_is_refused(tmp_path, content):
    with pytest.raises(BadPairs, match="pairs.tsv has no usable line") as caught:
        read_pairs(write(tmp_path, content), bad="skip")
    if content.startswith(b"Go"):
        assert "too few columns: 2, lines 1, 2 (one column" in str(caught.value)


def test_duplicates_are_counted_and_dropped_or_kept(tmp_path):
    path = write(tmp_path, "a\tb\nc\td\na\tb\na\te\n a\tb \n")
    dropped, kept = read_pairs(path), read_pairs(path, duplicates="keep")
    assert dropped.pairs == [("a", "b"), ("c", "d"), ("a", "e")]
    assert dropped.report.skipped["duplicate"].lines == [3, 5]
    assert "skipped, duplicate: 2, lines 3, 5" in str(dropped.report)
    assert len(kept.pairs) == len(kept.rest) == 5 and not kept.report.skipped
    assert kept.report.duplicates.lines == [3, 5] and "kept, duplicate: 2, lines 3, 5" in str(kept.report)


def test_one_language_only(tmp_path):
    def lines(same):
        return "".join(f"sentence {n}\t{'sentence' if n < same else 'Satz'} {n}\n" for n in range(10))

    found = read_pairs(write(tmp_path, lines(5)))
    assert found.report.same.count == 5 and "source and target the same: 5, lines 1, 2, 3, 4, 5" in str(found.report)
    for bad in ("refuse", "skip"):
        with pytest.raises(BadPairs, match=r"in 6 of 10 pairs .* same text \(lines 1, .*one language only") as caught:
            read_pairs(write(tmp_path, lines(6)), bad=bad)
        assert caught.value.line == 1


def test_the_report_shows_the_first_numbers_of_each_kind(tmp_path):
    found = read_pairs(write(tmp_path, "x\n" * 7 + "\n" * 6 + GOOD + "\n\tb\n"), bad="skip")
    assert found.report.skipped["too few columns"].lines == [1, 2, 3, 4, 5] and SHOWN == 5
    assert str(found.report).splitlines() == [
        "pairs.tsv: 15 lines read, 1 pairs kept, 8 lines skipped",
        "  skipped, too few columns: 7, lines 1, 2, 3, 4, 5, ... (one column, no tab in it; expected source in column "
        "0 and target in column 1, counted from 0)",
        "  skipped, empty field: 1, line 15 (the source, column 0 counted from 0, is empty)",
        "  blank: 6, lines 8, 9, 10, 11, 12, ...",
    ]
    report = Report("a file")
    for reason in reversed(REASONS):
        report.skip(reason, 1)
    assert tuple(report.skipped) == REASONS


# Bytes that are likely to be trouble, joined in any order.
FRAGMENTS = st.sampled_from([b"a", b"\t", b"\n", b"\r\n", "한".encode(), b"\xea", b"\0", b" ", b'"', b"\xef\xbb\xbf"])


@given(st.lists(FRAGMENTS, max_size=40).map(b"".join) | st.binary(max_size=60), st.sampled_from(["drop", "keep"]))
@settings(deadline=None)
def test_each_line_is_a_pair_blank_or_skipped(content, duplicates):
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, b"first\tpair\nsecond\tpair\n" + content)
        try:
            found = read_pairs(path, bad="skip", duplicates=duplicates, longest=25)
        except BadPairs as error:
            assert "one language only" in str(error)
            return
        report = found.report
        assert report.kept == len(found.pairs) == len(found.rest)
        assert report.lines == len(path.read_bytes().removesuffix(b"\n").split(b"\n"))
        assert report.lines == report.kept + report.blank.count + sum(one.count for one in report.skipped.values())
        assert all(side == tidy(side) and side for pair in found.pairs for side in pair)
        if set(report.skipped) <= {"duplicate"}:
            assert read_pairs(path, duplicates=duplicates, longest=25).pairs == found.pairs
        else:
            with pytest.raises(BadPairs) as caught:
                read_pairs(path, duplicates=duplicates, longest=25)
            firsts = {one.lines[0]: reason for reason, one in report.skipped.items() if reason != "duplicate"}
            assert (caught.value.line, caught.value.reason) == min(firsts.items())


@pytest.mark.parametrize("name", FILES)
def test_real_files_have_no_bad_line(name):
    path = real_file(name)
    found = read_pairs(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[-1] == "" and found.report.lines == len(lines) - 1 == len(found.pairs)
    assert not found.report.skipped and not found.report.blank.count
    plain = [tuple(" ".join(column.split()) for column in line.split("\t")) for line in lines[:-1]]
    assert [(*pair, *rest) for pair, rest in zip(found.pairs, found.rest, strict=True)] == plain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": -1}, "source: expected a column, counted from 0, got -1"),
        ({"target": "b"}, "target: expected a column, counted from 0, got 'b'"),
        ({"source": 1}, "source and target: expected two columns, got 1 for both"),
        ({"bad": "drop"}, 'bad: expected "refuse" or "skip"'),
        ({"duplicates": "refuse"}, 'duplicates: expected "drop" or "keep"'),
        ({"longest": 0}, "longest: expected at least 1 byte, got 0"),
    ],
)
def test_bad_arguments_are_named(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        read_pairs(write(tmp_path, GOOD), **arguments)


def test_a_missing_file_is_the_system_s_own_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent.tsv"):
        read_pairs(tmp_path / "absent.tsv")
