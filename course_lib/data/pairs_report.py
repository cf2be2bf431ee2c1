"""What was found while a file of sentence pairs was read: nothing is left out without being counted."""

from dataclasses import dataclass, field

REASONS = ("too long", "not UTF-8", "control character", "too few columns", "empty field", "duplicate")
SHOWN = 5  # line numbers of each kind that are kept


class BadPairs(ValueError):
    """A file of pairs cannot be used. line: the number of the line, None where the file as a whole is meant.

    reason: one of REASONS where one line is bad, else None.

    >>> BadPairs("pairs.tsv, line 3: no tab in it", 3, "too few columns").line
    3
    """

    def __init__(self, message, line=None, reason=None):
        super().__init__(message)
        self.line, self.reason = line, reason


@dataclass
class Found:
    """Lines of one kind. count: how many. lines: the numbers of the first few. example: what the first one is.

    >>> found = Found()
    >>> for number in range(1, 8):
    ...     found.add(number)
    >>> found.count, str(found)
    (7, 'lines 1, 2, 3, 4, 5, ...')
    """

    count: int = 0
    lines: list = field(default_factory=list)
    example: str = ""

    def add(self, number, example=""):
        """Count a line more, by its number."""
        self.count += 1
        self.example = self.example or example
        if len(self.lines) < SHOWN:
            self.lines.append(number)

    def __str__(self):
        more = ", ..." if self.count > len(self.lines) else ""
        where = f"line{'s' if self.count > 1 else ''} {', '.join(map(str, self.lines))}{more}"
        return f"{where} ({self.example})" if self.example else where


@dataclass
class Report:
    """Of one file. Each line read is a pair kept, blank, or skipped for one reason; `str` gives a readable summary.

    name: of the file. lines, kept: counts. blank, same, duplicates: `Found`; same counts kept pairs whose source is
    their target, duplicates all pairs that stood there before. skipped: {reason: Found}, in the order of REASONS.

    >>> report = Report("pairs.tsv", lines=2, kept=1)
    >>> report.skip("duplicate", 2)
    >>> print(report)
    pairs.tsv: 2 lines read, 1 pairs kept, 1 lines skipped
      skipped, duplicate: 1, line 2
    """

    name: str
    lines: int = 0
    kept: int = 0
    blank: Found = field(default_factory=Found)
    same: Found = field(default_factory=Found)
    duplicates: Found = field(default_factory=Found)
    skipped: dict = field(default_factory=dict)

    def skip(self, reason, number, example=""):
        """Count a line that is left out, by its number. reason: one of REASONS."""
        self.skipped.setdefault(reason, Found()).add(number, example)
        self.skipped = {name: self.skipped[name] for name in REASONS if name in self.skipped}

    def __str__(self):
        skipped = sum(found.count for found in self.skipped.values())
        rows = [f"{self.name}: {self.lines:,} lines read, {self.kept:,} pairs kept, {skipped:,} lines skipped"]
        rows += [f"  skipped, {reason}: {found.count:,}, {found}" for reason, found in self.skipped.items()]
        kept = {"blank": self.blank, "kept, source and target the same": self.same}
        if "duplicate" not in self.skipped:
            kept["kept, duplicate"] = self.duplicates
        rows += [f"  {what}: {found.count:,}, {found}" for what, found in kept.items() if found.count]
        return "\n".join(rows)
