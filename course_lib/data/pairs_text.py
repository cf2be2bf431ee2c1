"""One line of a file of sentence pairs: its text made uniform, or what is wrong with it."""

import re
import unicodedata

BYTE_ORDER_MARK = "\ufeff"
PIECE = 1 << 16  # bytes of an overlong line that are read, and forgotten, at a time

# Tab is what parts the columns; all other control characters (Cc) have no place in a sentence. U+FEFF within a line and
# U+FFFD, which stands where an earlier conversion lost a character, have none either.
_FORBIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ufeff\ufffd]")
_HANGUL = re.compile("[가-힣]")
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "a gzip file"}


class LineProblem(ValueError):
    """What is wrong with one line. reason: one of REASONS of `pairs_report`. The message does not name the line.

    >>> LineProblem("too few columns", "one column, no tab in it").reason
    'too few columns'
    """

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


def tidy(text):
    """The same text in NFC, without space at its ends, each other run of white space one plain space.

    macOS and some keyboards write 한 as three letters (NFD); NFC makes it one syllable again, so that it is one symbol.
    French puts U+202F or U+00A0 before its question mark, one writer this, another that: here they are all a space.

    >>> tidy(" \u1112\u1161\u11ab  Quoi\u202f? ")
    '한 Quoi ?'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def numbered_lines(file, longest):
    r"""(number from 1, bytes without LF or CRLF) for each line; None for the bytes where there are more than `longest`.

    file: open for bytes. Never holds more than `longest` + 2 bytes or PIECE of them, however long a line is.

    >>> import io
    >>> list(numbered_lines(io.BytesIO(b"one\r\nmuch too long\ntwo"), longest=3))
    [(1, b'one'), (2, None), (3, b'two')]
    """
    number = 0
    while line := file.readline(longest + 2):  # with its CRLF
        number += 1
        if len(line) == longest + 2 and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = file.readline(PIECE)
            yield number, None
        else:
            line = line.removesuffix(b"\n").removesuffix(b"\r")
            yield number, line if len(line) <= longest else None


def decode_line(line):
    r"""The text of a line, without a byte order mark at its start (joined files have one in the middle).

    Raises LineProblem for bytes that are not UTF-8 and for control characters.

    >>> decode_line("가!".encode("utf-8"))
    '가!'
    >>> decode_line(b"bell\x07")
    Traceback (most recent call last):
    course_lib.data.pairs_text.LineProblem: character 5 is U+0007, a control character
    """
    try:
        text = line.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        raise LineProblem("not UTF-8", _not_utf_8(line, error.start)) from None
    found = _FORBIDDEN.search(text)
    if not found:
        return text
    if text.count("\0") * 4 >= len(text):  # half of the bytes of English in UTF-16
        raise LineProblem("not UTF-8", _not_utf_8(line, line.index(0)))
    code = f"U+{ord(found.group()):04X}"
    place = f"character {found.start() + 1} is {code}"
    if code == "U+FFFD":
        raise LineProblem("control character", f"{place}, which stands for a letter lost when the file was converted")
    hint = ". Do its lines end with CR alone? They should end with LF" if code == "U+000D" else ""
    raise LineProblem("control character", f"{place}, a control character{hint}")


def columns_of(text, source, target):
    r"""(source, target, the other columns as a tuple) of the text of a line, tidied. source, target: columns from 0.

    Quotes are text: sentences begin with a bare " now and then, and a reader that takes it for quoting swallows all
    lines up to the next one. So this does not use `csv`, whose tab dialect quotes, and whose fields end at 131,072.
    Raises LineProblem where there are too few columns or one of the two has nothing to be seen.

    >>> columns_of("1\tGo!\t가!", source=1, target=2)
    ('Go!', '가!', ('1',))
    """
    columns = text.split("\t")
    if len(columns) <= max(source, target):
        wanted = f"expected source in column {source} and target in column {target}, counted from 0"
        if len(columns) == 1:
            raise LineProblem("too few columns", f"one column, no tab in it; {wanted}")
        raise LineProblem("too few columns", f"{len(columns)} columns; {wanted}")
    columns = [tidy(column) for column in columns]
    for name, place in (("source", source), ("target", target)):
        if all(unicodedata.category(character) in ("Cf", "Zs") for character in columns[place]):
            raise LineProblem("empty field", f"the {name}, column {place} counted from 0, is empty")
    rest = tuple(column for place, column in enumerate(columns) if place not in (source, target))
    return columns[source], columns[target], rest


def _not_utf_8(line, start):
    """The message for bytes that are not UTF-8 from `start` on: which byte, and what the file may be instead."""
    place = f"byte {start + 1} of the line (0x{line[start]:02X}) is not UTF-8"
    for magic, kind in _ARCHIVES.items():
        if line.startswith(magic):
            return f"{place}. The file looks like {kind}: unpack it first"
    if 0 in line or line.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{place}. The file looks like UTF-16: save it as UTF-8"
    for encoding, name in (("cp949", "EUC-KR or CP949"), ("cp1252", "Latin-1 or Windows-1252")):
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError:
            continue
        foreign = [character for character in text if not character.isascii()]
        # Nearly any bytes can be read as CP949, but then they give rare signs; people write Hangul.
        if encoding == "cp949" and len(_HANGUL.findall("".join(foreign))) < 0.8 * len(foreign):
            continue
        if encoding == "cp1252" and not line.decode("utf-8", "ignore").removeprefix(BYTE_ORDER_MARK).isascii():
            return f"{place}, though other letters of the line are: it is damaged there"
        before = len(line[:start].decode(encoding, "ignore"))
        around = text[max(0, before - 10) : before + 10].replace("\t", " ")
        return f"{place}. In {name} it reads {around!r}: save the file as UTF-8"
    return f"{place}: save the file as UTF-8"
