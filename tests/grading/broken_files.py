"""Files as students hand them in: encodings, formats, what transfers and editors leave, and what is no notebook.

`ENCODED` maps a name to (what happens, what each exercise gets, a part of the notes). What happens is a function of the
notebook that changes it, or returns the bytes of the file. `UNREADABLE` maps a name to (bytes or a function of those of
a good file, the cause). `FILES` has all that can be read, with those of `odd_notebooks`.
"""

import json
import sys

from .odd_notebooks import ODD
from .small_notebook import GOOD, RIGHT, bare, both, data_of, edit, text_of


def as_text(transform):
    """The file as text, changed."""
    return lambda book: transform(text_of(book))


def as_json(change):
    """The file's JSON, changed."""

    def happens(book):
        data = json.loads(text_of(book))
        made = change(data)
        return json.dumps(made if isinstance(made, dict) else data).encode()

    return happens


def format_3(data):
    cells = []
    for one in data["cells"]:
        text = {"input": one["source"], "language": "python", "outputs": [], "collapsed": False}
        cells.append({"cell_type": one["cell_type"], **(text if one["cell_type"] == "code" else one)})
    cells[0] = {"cell_type": "heading", "level": 1, "source": "Twice"}
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]}


def each(change):
    def happens(data):
        for one in data["cells"]:
            change(one)

    return happens


def large_output(data):
    text = "x" * 79 + "\n"
    cell_with = next(one for one in data["cells"] if one["cell_type"] == "code")
    cell_with["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [text] * 250_000}]


ENCODED = {
    "as it was": (lambda book: None, RIGHT, ""),
    "UTF-8 with BOM": (as_text(lambda text: b"\xef\xbb\xbf" + text.encode()), RIGHT, ""),
    "UTF-16": (as_text(lambda text: text.encode("utf-16")), RIGHT, "read as UTF-16"),
    "UTF-16 without BOM": (as_text(lambda text: text.encode("utf-16-be")), RIGHT, "read as UTF-16"),
    "saved as latin-1": (
        lambda book: data_of(edit("twice-answer", "größe = 2\n" + GOOD)(book) or book).decode().encode("latin-1"),
        RIGHT,
        "read as latin-1",
    ),
    "saved as cp949": (
        lambda book: data_of(edit("twice-answer", "두배 = 2  # 값\n" + GOOD)(book) or book).decode().encode("cp949"),
        RIGHT,
        "read as cp949",
    ),
    "one byte of Korean lost": (
        lambda book: data_of(edit("twice-answer", GOOD + "  # 두 배로 만들기")(book) or book).replace(b"\xeb", b"", 1),
        RIGHT,
        "UTF-8 with",
    ),
    "CRLF": (as_text(lambda text: text.replace("\n", "\r\n").encode()), RIGHT, ""),
    "CRLF in the sources": (
        as_json(each(lambda one: one.update(source=[line.replace("\n", "\r\n") for line in one["source"]]))),
        RIGHT,
        "",
    ),
    "NUL bytes": (as_text(lambda text: text.encode() + b"\0\0\0"), RIGHT, "NUL bytes"),
    "a NUL in a cell": (edit("twice-answer", GOOD + "  # \0"), RIGHT, "NUL characters were taken out of cell 4"),
    "a lone surrogate": (
        as_json(each(lambda one: one["metadata"].update(x="\ud800"))),
        RIGHT,
        "",
    ),
    "format 3": (as_json(format_3), RIGHT, "format 3"),
    "format 4.2 without ids": (lambda book: [one.pop("id") for one in book.cells] and None, RIGHT, "ids were missing"),
    "format 9": (as_json(lambda data: data.update(nbformat=9)), RIGHT, "format 9, read as 4"),
    "all metadata lost": (bare, RIGHT, "ids were missing"),
    "metadata of other types": (
        as_json(each(lambda one: one.update(metadata=["course"]))),
        RIGHT,
        "",
    ),
    "metadata is missing": (
        as_json(lambda data: both(each(lambda one: one.pop("metadata")), lambda d: d.pop("metadata"))(data)),
        RIGHT,
        "",
    ),
    "metadata that no schema allows": (
        as_json(
            lambda data: both(
                each(lambda one: one["metadata"].update(tags=["a", 1], name="", collapsed=3)),
                lambda data: data["metadata"].update(kernelspec={}, language_info=3, authors="me"),
            )(data)
        ),
        RIGHT,
        "",
    ),
    "sources as lists without line ends": (
        as_json(each(lambda one: one.update(source="".join(one["source"]).split("\n")))),
        RIGHT,
        "",
    ),
    "a cell without source": (as_json(lambda data: data["cells"][0].pop("source")), RIGHT, ""),
    "a cell that is a number": (
        as_json(lambda data: data["cells"].append(7)),
        RIGHT,
        "cell 9 is no cell",
    ),
    "an unknown kind of cell": (
        as_json(lambda data: data["cells"][3].update(cell_type="sql")),
        RIGHT,
        "cell 4 is of a kind that is not known",
    ),
    "20 MB of output": (as_json(large_output), RIGHT, ""),
}
UNREADABLE = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\0\n", "nothing in the file"),
    "truncated": (lambda data: data[: len(data) // 2], r"line \d+: the file ends in the middle"),
    "truncated in a number": (b'{"cells": [], "nbformat": ', "line 1: the file ends in the middle"),
    "merge markers": (
        lambda data: data.replace(b' "cells"', b'<<<<<<< HEAD\n "cells"', 1),
        r"line 2: git's merge markers",
    ),
    "a comma too many": (lambda data: data.replace(b"[", b"[,", 1), r"line \d+: this is no JSON"),
    "a web page": (b"\n<!DOCTYPE html><html><body>Log in</body></html>", "a web page"),
    "a Python file": (b"import torch\n\ndef twice(x):\n    return 2 * x\n", "a Python file"),
    "a text": ("두 배를 돌려줍니다".encode(), "a text"),
    "a zip": (b"PK\x03\x04rest", "a zip archive"),
    "a PDF": (b"%PDF-1.7", "a PDF"),
    "a list": (b"[1, 2]", "its JSON is a list"),
    "null": (b"null", "its JSON is nothing"),
    "no cells": (b'{"metadata": {}}', "no list of cells"),
    "cells that are a table": (b'{"cells": {}, "nbformat": 4}', "no list of cells"),
    "nested too deeply": (b'{"cells": ' + b"[" * sys.getrecursionlimit() * 50 + b"}", "nested too deeply"),
    "too many values": (b'{"cells": [' + b"0," * 5_000_001 + b"0]}", "more than 5,000,000 values"),
    "too many cells": (json.dumps({"cells": [{}] * 5_001, "nbformat": 4}).encode(), "5,001 cells"),
    "a number without end": (b'{"cells": ' + b"9" * 10_000 + b"}", "a number"),
}
FILES = ENCODED | ODD
