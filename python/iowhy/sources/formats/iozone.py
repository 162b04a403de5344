"""`iozone`: the table of a run (kB/s by file size and record length), and the lines of throughput mode.

kB are 1024 bytes; -O prints operations and is not read. Names of the tests are in two lines above each
other ("random" over "read").
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB

NAME = "iozone"
HINT = r"^\s*Iozone: Performance Test|^\s*[kK]B\s+reclen\s+\w|^\s*(?:Children see|Parent sees) throughput for|^\s*Command line used: .*iozone"
SURE = 0.95
BEGINS = r"\s*Iozone:"

_VERSION = re.compile(r"\s*Version \$Revision: (\S+) \$")
_THROUGHPUT = re.compile(
    r"\s*(?P<who>Children see|Parent sees) throughput for\s+(?P<count>\d+)\s+(?P<test>.+?)\s*=\s*(?P<value>\d+(?:\.\d+)?)\s*[kK][bB](?:ytes)?/sec\s*"
)
_PROSE = re.compile(
    r"\s*(?:Iozone: |Version|Compiled for|Build:|Contributors:|Run began:|Command line used:|Output is in|"
    r"Time Resolution|Processor cache|File stride|Auto Mode|Record Size|File size set|Throughput test|"
    r"Each process writes|Using |Include |Setting no_|O_DIRECT|SYNC Mode|fsync |No retest|"
    r"Initial write|iozone test complete|Max process|Min process|Excel|CPU utilization|"
    r"Stride size|Selected test|Include fsync|Network|Multi_buffer|QUIET).*"
)
#: The tests in the order of the columns of -a (iozone's documentation).
_SECOND = {"random", "bkwd", "record", "stride"}
_STDIO = {"fwrite", "frewrite", "fread", "freread"}


def read(block: Block) -> Parsed:
    """Into measurements: subject "TEST [FILES x] KB" (then the record length), bytes_per_s."""
    parsed = Parsed(NAME, units="kB/s of 1024 bytes")
    columns: list[str] = []
    above = ""
    rows: list[tuple[int, str, list[str]]] = []
    size = ""
    contributors = False
    for at, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text:
            contributors = False
            continue
        parsed.lines_understood += 1
        words = text.split()
        if match := _VERSION.match(line):
            parsed.version = match[1]
        elif words[:2] in (["kB", "reclen"], ["KB", "reclen"]):
            columns = _columns(above, line)
        elif set(words) <= _SECOND:
            above = line
        elif columns and all(word.isdigit() for word in words) and len(words) > 2:
            rows.append((at, line, words))
        elif match := _THROUGHPUT.fullmatch(line):
            if match["who"] == "Children see":
                # "initial writers" of 1,920 files → "initial writer 1920 x 16384", size in kB.
                test = match["test"].removesuffix("s")
                subject = f"{test} {match['count']} x {size}" if size else test
                parsed.measure(subject, "bytes_per_s", float(match["value"]) * KIB)
        elif (
            match := re.fullmatch(r"\s*Each process writes a (\d+) [kK]\w* file in .*", line)
        ) or (match := re.fullmatch(r"\s*File size set to (\d+) [kK]\w*", line)):
            size = match[1]
        elif text.startswith("Contributors:"):
            contributors = True
        elif not (_PROSE.fullmatch(line) or contributors or _fact(text)):
            parsed.lines_understood -= 1
            parsed.reject(at, line)
    _rows(parsed, columns, rows)
    return parsed


def _fact(text: str) -> bool:
    return re.fullmatch(r"(?:Min|Max|Avg) (?:throughput|xfer)\b.*", text) is not None


def _columns(above: str, line: str) -> list[str]:
    """Names of the columns: the words above ("random random bkwd") belong to the last tests.

    The plain tests come first and those through stdio (fwrite, fread) behind; the columns of the two lines
    are not quite above each other, so they are counted.
    """
    names = line.split()
    words = above.split()
    end = next((at for at, name in enumerate(names) if name in _STDIO), len(names))
    first = end - len(words)
    if first >= 2:
        names[first:end] = [
            f"{word} {name}" for word, name in zip(words, names[first:end], strict=True)
        ]
    return names


def _rows(
    parsed: Parsed, columns: Sequence[str], rows: Sequence[tuple[int, str, list[str]]]
) -> None:
    """All have as many cells, for the tests that were chosen; one with fewer was cut."""
    seen: set[str] = set()
    longest = max((len(words) for _, _, words in rows), default=0)
    for at, line, words in rows:
        if len(words) == longest <= len(columns):
            _row(parsed, columns, words, seen)
        else:
            parsed.lines_understood -= 1
            parsed.reject(at, line)


def _row(parsed: Parsed, columns: Sequence[str], words: Sequence[str], seen: set[str]) -> None:
    for name, word in zip(columns[2:], words[2:], strict=False):
        subject = f"{name} {words[0]}"
        if subject in seen:
            subject = f"{subject} in {words[1]}"
        seen.add(subject)
        parsed.measure(subject, "bytes_per_s", float(word) * KIB)
