"""Read any notebook file, whatever an editor, a browser or a transfer did to it. Nothing of it is executed.

What comes out is a notebook of format 4.5 without outputs, each cell with an id of its own. What cannot be read is
`Unreadable`, whose text names the file, the place where it is known, and the cause.
"""

import os
import re
import stat

import nbformat

from .decoding import Damaged, decoded, json_of

SIZE_LIMIT = 100 << 20  # bytes of a file
CELL_LIMIT, CODE_LIMIT = 5_000, 2_000_000  # cells of a notebook, characters of their sources together
DEPTH_LIMIT = 20  # of metadata
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KINDS = {"code": "code", "markdown": "markdown", "raw": "raw", "heading": "markdown", "html": "markdown"}
SURROGATES = re.compile("[\ud800-\udfff]")


class Unreadable(ValueError):
    """A file of which nothing can be graded; the text names the file, the place and the cause."""


def read(path):
    """(the notebook, what was mended: short lines). Raises Unreadable.

    A link, a pipe or a device is refused and never opened.
    """
    try:
        text, notes = decoded(contents(path))
        data = json_of(text)
        return notebook_of(data, notes), notes
    except Damaged as error:
        raise Unreadable(f"{shown(path)}{error}") from None
    except (RecursionError, MemoryError):
        raise Unreadable(f"{shown(path)}: it is nested too deeply to be a notebook") from None
    except OSError as error:
        raise Unreadable(f"{shown(path)}: {error.strerror or 'it cannot be opened'}") from None


def shown(path):
    """The name of a file as text that can be written anywhere."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", SURROGATES.sub("?", path.name))


def contents(path):
    """The bytes of a plain file. Raises Damaged for what is none, and OSError."""
    require_plain(os.lstat(path))
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:  # looked at again: it may have been exchanged meanwhile
        require_plain(os.fstat(file.fileno()))
        data = file.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise Damaged(f": it is larger than {SIZE_LIMIT >> 20} MB")
    return data


def require_plain(state):
    if stat.S_ISLNK(state.st_mode):
        raise Damaged(": it is a link to another file, and links are not followed")
    if stat.S_ISDIR(state.st_mode):
        raise Damaged(": it is a folder")
    if not stat.S_ISREG(state.st_mode):
        raise Damaged(": it is a pipe or a device, not a file")
    if state.st_size > SIZE_LIMIT:
        raise Damaged(f": it is larger than {SIZE_LIMIT >> 20} MB")


def notebook_of(data, notes):
    """JSON -> a notebook of format 4.5. Adds to `notes`. Raises Damaged where the JSON is no notebook."""
    cells = cells_of(data, notes)
    if len(cells) > CELL_LIMIT:
        raise Damaged(f": it has {len(cells):,} cells, more than the {CELL_LIMIT:,} that are read")
    book = nbformat.v4.new_notebook(metadata=metadata_of(data))
    book.nbformat_minor = 5
    book.cells = [mended(cell, number, notes) for number, cell in enumerate(cells, 1)]
    size = sum(len(cell.source) for cell in book.cells)
    if size > CODE_LIMIT:
        raise Damaged(f": its cells hold {size:,} characters, more than the {CODE_LIMIT:,} that are read")
    give_ids(book, [cell.get("id") if isinstance(cell, dict) else None for cell in cells], notes)
    return book


def cells_of(data, notes):
    """The list of cells in JSON of notebook format 2 to 4, or of one that is newer."""
    if not isinstance(data, dict):
        kind = {list: "a list", str: "a text", type(None): "nothing"}.get(type(data), "a number")
        raise Damaged(f": its JSON is {kind}, not a notebook")
    version = data.get("nbformat")
    if "cells" not in data and isinstance(data.get("worksheets"), list):
        sheets = [sheet.get("cells") for sheet in data["worksheets"] if isinstance(sheet, dict)]
        notes.append(f"notebook format {version if type(version) is int else 3}")
        return [cell for cells in sheets if isinstance(cells, list) for cell in cells]
    if not isinstance(data.get("cells"), list):
        raise Damaged(": its JSON has no list of cells, so it is no notebook")
    if version != 4:
        shown_version = version if type(version) is int and 0 < version < 100 else "unknown"
        notes.append(f"notebook format {shown_version}, read as 4")
    return data["cells"]


def mended(cell, number, notes):
    """One cell in the shape of format 4, without outputs and with no id yet."""
    if not isinstance(cell, dict):
        notes.append(f"cell {number} is no cell and is left out")
        cell = {"cell_type": "raw"}
    kind = cell.get("cell_type")
    given = KINDS.get(kind) if isinstance(kind, str) else None
    if given is None:
        given = "code" if "outputs" in cell or "execution_count" in cell else "raw"
        notes.append(f"cell {number} is of a kind that is not known, and is taken for {given}")
    source = source_of(cell.get("source", cell.get("input")), number, notes)
    if kind == "heading":
        level = cell.get("level")
        source = "#" * (level if type(level) is int and 1 <= level <= 6 else 1) + " " + source
    new = nbformat.NotebookNode(cell_type=given, metadata=metadata_of(cell), source=source)
    if given == "code":
        new.update(execution_count=None, outputs=[])
    elif attached := attachments_of(cell):
        new.attachments = nbformat.from_dict(attached)
    return new


def source_of(given, number, notes):
    """The text of a cell, which may be a text, a list of lines, or missing."""
    if isinstance(given, list):
        parts = [part for part in given if isinstance(part, str)]
        loose = len(parts) > 1 and not any(part.endswith(("\n", "\r")) for part in parts[:-1])
        given = ("\n" if loose else "").join(parts)  # some programs leave the ends of lines out
    if not isinstance(given, str):
        return ""
    text = SURROGATES.sub("\ufffd", given.replace("\r\n", "\n").replace("\r", "\n")).removeprefix("\ufeff")
    if "\0" in text:
        notes.append(f"NUL characters were taken out of cell {number}")
    return text.replace("\0", "")


def metadata_of(holder):
    """What the course needs of the metadata of a notebook or a cell: its own, nbgrader's, and tags."""
    found = holder.get("metadata")
    found = found if isinstance(found, dict) else {}
    kept = {name: found[name] for name in ("course", "nbgrader") if isinstance(found.get(name), dict)}
    tags = found.get("tags")
    if isinstance(tags, list) and all(isinstance(tag, str) and tag and "," not in tag for tag in tags):
        kept["tags"] = sorted(set(tags))
    return nbformat.from_dict({name: clean(one) for name, one in kept.items() if not deeper(one, DEPTH_LIMIT)})


def clean(value):
    """The same with texts that can be written again. value: tables and lists that are not nested deeply."""
    if isinstance(value, dict):
        return {clean(name): clean(one) for name, one in value.items()}
    if isinstance(value, list):
        return [clean(one) for one in value]
    return SURROGATES.sub("\ufffd", value) if isinstance(value, str) else value


def attachments_of(cell):
    """Pictures pasted into a cell of text: {file name: {mime type: text}}."""
    found = cell.get("attachments")
    found = found if isinstance(found, dict) else {}
    return {
        clean(name): clean(bundle)
        for name, bundle in found.items()
        if isinstance(bundle, dict) and all(isinstance(value, str) for value in bundle.values())
    }


def deeper(value, limit):
    """Whether tables and lists are nested more than `limit` deep."""
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return limit == 0 or any(deeper(one, limit - 1) for one in inner)


def give_ids(book, given, notes):
    """Each cell its id; those that are missing, doubled or no ids get one made of the cell's number."""
    valid = [one if isinstance(one, str) and ID.fullmatch(one) else None for one in given]
    first = {}
    for number, (cell, one) in enumerate(zip(book.cells, valid, strict=True), 1):
        if one is not None and one not in first:
            first[one] = number
            cell.id = one
        elif one is not None:
            notes.append(f"cells {first[one]} and {number} have the same id")
    if book.cells and not first:
        notes.append("cell ids were missing")
    taken = set(first)
    for number, cell in enumerate(book.cells, 1):
        if "id" not in cell:
            name = f"cell-{number}"
            while name in taken:
                name += "-"
            taken.add(name)
            cell.id = name
