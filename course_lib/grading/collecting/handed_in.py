"""What lies in a folder or a zip file that students filled: a flat list of what was found, none of it trusted.

Links are not followed, folders are not walked without end, and of a zip file only notebooks are unpacked, under names
that we make, so that no member can leave the folder that it is unpacked to.
"""

import os
import re
import shutil
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ..repairing.reading import SIZE_LIMIT
from .names import safe_name

NOTEBOOK = re.compile(r"\.ipynb(\.(txt|json))?$", re.I)  # browsers and mail programs add the second part
SKIPPED = {"__macosx", "__pycache__", "thumbs.db", "desktop.ini"}  # and all that begins with a dot: checkpoints
ENTRIES_LIMIT, DEPTH_LIMIT = 50_000, 10
TOTAL_LIMIT = 8 << 30  # bytes of all notebooks of a zip file together


class NothingToCollect(ValueError):
    """What was given cannot be taken apart into submissions; the text says why."""


@dataclass(frozen=True)
class Entry:
    """A file that was found. parts: the names on the way to it. path: where a notebook lies, else None. note: or ""."""

    parts: tuple[str, ...]
    path: Path | None = None
    note: str = ""


def in_folder(folder):
    """The entries below a folder, in the order of their names. An empty folder is an entry whose last name is ""."""
    found, waiting = [], [(Path(folder), ())]
    while waiting:
        here, parts = waiting.pop()
        try:
            children = sorted(os.scandir(here), key=lambda one: one.name)
        except OSError:
            found.append(Entry((*parts, ""), None, f"the folder {safe_name(here.name)} cannot be opened"))
            continue
        children = [one for one in children if not is_skipped(one.name)]
        if not children:
            found.append(Entry((*parts, "")))
        for one in children:
            names = (*parts, one.name)
            if one.is_symlink():
                found.append(Entry(names, None, f"{safe_name(one.name)} is a link, and links are not followed"))
            elif not one.is_dir(follow_symlinks=False):
                found.append(Entry(names, Path(one.path) if NOTEBOOK.search(one.name) else None, nested(one.name)))
            elif len(names) > DEPTH_LIMIT:
                found.append(Entry(names, None, f"folders are nested too deeply below {safe_name(one.name)}"))
            else:
                waiting.append((Path(one.path), names))
        if len(found) > ENTRIES_LIMIT:
            raise NothingToCollect(f"{Path(folder).name} holds more than {ENTRIES_LIMIT:,} files")
    return sorted(found, key=lambda entry: entry.parts)


def is_skipped(name):
    return name.startswith(".") or name.lower() in SKIPPED


def nested(name):
    """A note on a file that holds other files, else ""."""
    packed = name.lower().endswith((".zip", ".tar", ".gz", ".7z", ".rar"))
    return f"{safe_name(name)} is an archive inside, and was left unopened" if packed else ""


def in_zip(path, into):
    """The entries of a zip file, its notebooks unpacked below `into`. Raises NothingToCollect and OSError."""
    shown = safe_name(Path(path).name)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise NothingToCollect(f"{shown} is no zip file that can be read ({error})") from None
    with archive:
        members = archive.infolist()
        if len(members) > ENTRIES_LIMIT:
            raise NothingToCollect(f"{shown} holds more than {ENTRIES_LIMIT:,} files")
        if sum(one.file_size for one in members if NOTEBOOK.search(one.filename)) > TOTAL_LIMIT:
            raise NothingToCollect(f"the notebooks in {shown} take more than {TOTAL_LIMIT >> 30} GB unpacked")
        found = [unpacked(archive, one, number, Path(into)) for number, one in enumerate(members)]
    return sorted(filter(None, found), key=lambda entry: entry.parts)


def unpacked(archive, member, number, into):
    """The entry of a member, or None for one that is no matter."""
    name = name_of(member)
    raw = re.split(r"[/\\]", name)
    parts = tuple(one for one in raw if one not in ("", ".", "..") and not re.fullmatch("[A-Za-z]:", one))
    if not parts or any(map(is_skipped, parts)) or len(parts) > DEPTH_LIMIT:
        return None
    if member.is_dir():
        return Entry((*parts, ""))
    shown = safe_name(parts[-1])
    if ".." in raw or name.startswith(("/", "\\")) or re.match("[A-Za-z]:", name):
        return Entry(parts, None, f"{shown} points out of the zip file, and was left there")
    if stat.S_ISLNK(member.external_attr >> 16):
        return Entry(parts, None, f"{shown} is a link, and links are not followed")
    if not NOTEBOOK.search(parts[-1]):
        return Entry(parts, None, nested(parts[-1]))
    if member.file_size > SIZE_LIMIT:
        return Entry(parts, None, f"{shown} is larger than {SIZE_LIMIT >> 20} MB")
    target = into / f"{number:05}" / shown
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(member) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file)
    except Exception as error:  # whatever a damaged or encrypted member raises
        target.unlink(missing_ok=True)
        return Entry(parts, None, f"{shown} cannot be unpacked ({str(error)[:100] or type(error).__name__})")
    return Entry(parts, target)


def name_of(member):
    """The name of a member; those that were packed without a note on their encoding are UTF-8, Korean, or neither."""
    if member.flag_bits & 0x800:
        return member.filename
    data = member.filename.encode("cp437", "replace")  # what zipfile decoded it with
    for encoding in ("utf-8", "cp949"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return member.filename
