"""Names of students and files: as they are written, and as they can be compared."""

import hashlib
import re
import unicodedata

LONGEST = 120  # bytes of a safe name
FORBIDDEN = set('/\\:*?"<>|')  # on one system or another
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)


def safe_name(text):
    """A text as the name of a file on any system, and as text that can be written anywhere; never empty.

    Different texts may become the same; whoever needs them apart counts.
    """
    text = unicodedata.normalize("NFC", text)
    text = re.sub("[\udc80-\udcff]", lambda byte: f"~{ord(byte[0]) - 0xDC00:02x}", text)  # bytes that are no UTF-8
    kept = "".join(
        "_" if letter in FORBIDDEN else " " if letter.isspace() else letter
        for letter in text
        if letter.isspace() or not unicodedata.category(letter).startswith("C")
    )
    kept = re.sub(r"\s+", " ", kept).strip(" .") or "_"
    if RESERVED.fullmatch(kept):
        kept = f"_{kept}"
    if len(kept.encode()) > LONGEST:
        short = kept.encode()[: LONGEST - 9].decode(errors="ignore").strip(" .")
        kept = f"{short}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return kept


def unique(name, taken):
    """A name that is not in `taken`, where letters differ by more than their size; adds it there."""
    new, number = name, 2
    while new.casefold() in taken:
        new, number = f"{name}-{number}", number + 1
    taken.add(new.casefold())
    return new


def key(text):
    """A text for comparing: no matter how its accents are stored, its letters' size, blanks and punctuation."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in unicodedata.normalize("NFC", text) if letter.isalnum())


def plain_key(text):
    """The same without accents: some learning platforms drop them from the names of files."""
    letters = unicodedata.normalize("NFKD", text)
    return key("".join(letter for letter in letters if not unicodedata.combining(letter)))
