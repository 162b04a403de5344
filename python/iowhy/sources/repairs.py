"""Undo what logs, mail and wikis do to tables in ways that no list has: each way is tried, and kept where more figures are understood then.

A prefix or frame is found by its regularity: words of one shape before each line of a stretch. A line that was wrapped is one that was
not understood, behind one that has no room for its first word. Each repair gives the lines again, each with the place that it had.
"""

import html
import json
import quopri
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial

#: A repaired line, and the place of the one that it begins in.
Line = tuple[int, str]
#: By the lines and the places of those that nothing understood.
Repair = Callable[[Sequence[str], Collection[int]], list[Line]]

#: Words that a prefix may have: a date, a time and its zone, a host, a unit, a stream, a level.
PREFIX_WORDS = 9
#: A cell of a table, and the blanks before it that a wrap takes.
CELL = 14
#: So many words without a number are the titles of a table, whose rows have as many.
TITLES = 6
#: Longer lines are not searched for pairs of marks.
MARKED = 2000

_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*[%KMGTkBi]{0,3}")
_DECIMAL = re.compile(r"\d+\.\d+")
_BARS = re.compile(r"[|│┃║]")
_RULE = re.compile(r"[\s|:+=─━┄┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬═│┃║-]*")
_MARKS = [
    (re.compile(rf"(?<!\S){mark}(?=\S)"), re.compile(rf"(?<=\S){mark}(?!\S)"))
    for mark in (r"\*\*", "__", "~~", "`", r"\*")
]
_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)",?\s*')
_WITH_LINES = re.compile(r'"((?:[^"\\]|\\.)*\\n(?:[^"\\]|\\.)*)"')
_CELL_END = re.compile(r"</t[dh]\s*>", re.I)
_TAGS = re.compile(r"<[^<>]{0,200}>")
_ESCAPED = re.compile(r"=[0-9A-F]{2}|=$")


def figures(line: str) -> int:
    """How many numbers a line has."""
    return sum(_NUMBER.fullmatch(word) is not None for word in line.split())


def is_row(line: str) -> bool:
    """Whether a line is one of a table: mostly numbers, at least two."""
    return _are_row(figures(line), len(line.split()))


def _are_row(numbers: int, words: int) -> bool:
    return numbers >= 2 and 2 * numbers >= words


#: A line of the kernel's log, whose stamp and addresses are no row of a table.
_KERNEL = re.compile(r"\s*(?:\S+ +){0,5}(?:kernel: ?)?\[ *\d{1,12}\.\d{6}\]")


def is_debris(line: str) -> bool:
    """Whether a line that was not understood may be a part of a row: at least half of its words have digits, two, the last one or a decimal number first, and are no times."""
    if _KERNEL.match(line):
        return False
    words = [word for word in line.split() if any(map(str.isalnum, word))]
    found = sum(any(map(str.isdigit, word)) and not set(word) & {":", "/"} for word in words)
    if (
        not found
        or 2 * found < len(words)
        or not any(_NUMBER.fullmatch(word.strip("()[]<>,;|")) for word in words)
    ):
        return False
    return found > 1 or any(map(str.isdigit, words[-1])) or _DECIMAL.fullmatch(words[0]) is not None


def _stretches(lines: Sequence[str], key: Callable[[str], str | None]) -> Iterator[tuple[int, int]]:
    """(first, end) of lines with one key, and the empty ones between them."""
    at = 0
    while at < len(lines):
        first = key(lines[at])
        if first is None:
            at += 1
            continue
        end = last = at + 1
        while end < len(lines) and (not lines[end].strip() or key(lines[end]) == first):
            end += 1
            if lines[end - 1].strip():
                last = end
        yield at, last
        at = last


@lru_cache(maxsize=4096)
def _shape(word: str) -> str:
    """A word without what changes from line to line: numbers, and names of days and months."""
    bare = re.sub(r"\d+", "9", word)
    return "Aaa" if re.fullmatch(r"[A-Z][a-z]{2}", bare) else re.sub(r"9[.,]9(?=\D|$)", "9", bare)


def unprefixed(words: int, lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """Without so many words in front of each line of a stretch, if they have one shape in all of it."""
    made = list(enumerate(lines))

    def first(line: str) -> str | None:
        found = line.split(None, 1)
        return _shape(found[0]) if found else None

    for begin, end in _stretches(lines, first):
        rows = [at for at in range(begin, end) if lines[at].strip()]
        if len(rows) < 2 or not any(at in unread for at in rows):
            continue
        places = {at: list(re.finditer(r"\S+", lines[at])) for at in rows}
        shapes = {at: [_shape(one[0]) for one in found[:words]] for at, found in places.items()}
        whole = max(shapes.values(), key=len)
        if len(whole) < words or any(one != whole[: len(one)] for one in shapes.values()):
            continue
        ends = {at: found[words - 1].end() for at, found in places.items() if len(found) > words}
        if len(ends) < 2:
            continue
        room = min(places[at][words].start() - ends[at] for at in ends)
        for at in rows:
            made[at] = (at, lines[at][ends[at] + room :] if at in ends else "")
    return made


def unsigned(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """Without one sign in front of each line of a stretch: `# `, `+ `, `| `."""
    made = list(enumerate(lines))

    def sign(line: str) -> str | None:
        return (
            line[0] if line[:1] and not line[0].isalnum() and line[0] not in " \t<{[(\"'" else None
        )

    for begin, end in _stretches(lines, sign):
        rows = [at for at in range(begin, end) if lines[at].strip()]
        if len(rows) < 2 or not any(at in unread for at in rows):
            continue
        blank = all(lines[at][1:2] in ("", " ", "\t") for at in rows)
        for at in rows:
            made[at] = (at, lines[at][2 if blank else 1 :])
    return made


def unframed(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """Tables of Markdown, psql and boxes: bars are blanks, rules go."""
    made: list[Line] = []
    for at, line in enumerate(lines):
        if _BARS.search(line) or (at in unread and _RULE.fullmatch(line)):
            if not _RULE.fullmatch(line):
                made.append((at, " ".join(_BARS.sub(" ", line).split())))
        else:
            made.append((at, line))
    return made


def unmarked(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """Without bold, italics and code around words or lines: as many marks before words as behind words."""
    made = list(enumerate(lines))
    for at in unread:
        line = lines[at] if at < len(lines) else ""
        if not line or '"' in line or len(line) > MARKED:
            continue
        if (bare := line.strip())[0] == bare[-1] == "`" and len(bare) > 2:
            line = line.rstrip()[:-1].replace("`", "", 1)
        for before, behind in _MARKS:
            if len(before.findall(line)) == len(behind.findall(line)):
                line = behind.sub("", before.sub("", line))
        made[at] = (at, line)
    return made


def from_json(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """Lines that are strings of a list, a string with lines in it, or one object each: the text is what differs most among these."""
    del unread
    objects = {at: found for at, line in enumerate(lines) if (found := _object(line))}
    shapes: dict[str, set[str]] = {}
    for found in objects.values():
        for key, value in found.items():
            shapes.setdefault(key, set()).add(_shape(value))
    text = max(shapes, key=lambda key: len(shapes[key]), default="")
    made: list[Line] = []
    for at, line in enumerate(lines):
        if at in objects and text in objects[at]:
            found_text = objects[at][text].removesuffix("\n")
        elif match := _STRING.fullmatch(line) or _WITH_LINES.search(line):
            found_text = _loaded(match[1])
        else:
            found_text = line
        made += [(at, one) for one in found_text.split("\n")]
    return made


def _object(line: str) -> dict[str, str]:
    """The texts of an object in one line."""
    if not line.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _loaded(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def from_quoted_printable(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """Mail as it travels: =20 for a blank, a = at the end of a line that goes on."""
    del unread
    made: list[Line] = []
    goes_on = False
    for at, line in enumerate(lines):
        bare = line.rstrip()
        text = bare.removesuffix("=") if bare.endswith("=") else line
        if _ESCAPED.search(line):
            text = (
                quopri.decodestring(text.encode())
                .decode("utf-8", errors="replace")
                .replace("\u00a0", " ")
            )
        if goes_on:
            made[-1] = (made[-1][0], made[-1][1] + text)
        else:
            made.append((at, text))
        goes_on = bare.endswith("=")
    return made


def from_html_table(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """One line for each row."""
    del unread
    made: list[Line] = []
    row: list[str] | None = None
    begun = 0
    for at, line in enumerate(lines):
        rest = line
        while match := re.search(r"<(/?)tr\b[^<>]*>", rest, re.I):
            before, rest = rest[: match.start()], rest[match.end() :]
            if row is not None:
                row.append(before)
                made.append(
                    (
                        begun,
                        " ".join(
                            html.unescape(_TAGS.sub("", _CELL_END.sub(" ", " ".join(row)))).split()
                        ),
                    )
                )
            row, begun = (None, at) if match[1] else ([], at)
        if row is None:
            made.append(
                (at, _TAGS.sub("", rest) if "<t" in rest.lower() or "</t" in rest.lower() else rest)
            )
        else:
            row.append(rest)
    return made


def unspaced(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """Without the empty lines that are behind every line."""
    del unread
    runs: list[int] = []
    for line in lines:
        if line.strip():
            runs.append(0)
        elif runs:
            runs[-1] += 1
    least = min(runs[:-1], default=0)
    made: list[Line] = []
    left = 0
    for at, line in enumerate(lines):
        if line.strip():
            left = least
        elif left:
            left -= 1
            continue
        made.append((at, line))
    return made


def unwrapped(lines: Sequence[str], unread: Collection[int], glue: str = " ") -> list[Line]:
    """Lines that were not understood behind the line before, if that has no room for their first word.

    A row is complete with as many words as the titles above it.
    """
    made: list[Line] = []
    widest = titles = 0
    numbers = words = 0  # of the last line that was made; it may grow by many
    for at, line in enumerate(lines):
        own = line.split()
        if not own:
            made.append((at, line))
            widest = titles = 0
            continue
        own_numbers = figures(line)
        if not widest:
            end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
            widest = max(map(len, lines[at:end]))
            open_ = False
        else:
            last = len(lines[at - 1].rstrip())
            fits = last + len(own[0]) + CELL > widest if glue else last == widest
            together = _are_row(numbers, words) == _are_row(own_numbers, len(own)) or numbers != 0
            open_ = (
                fits
                and any(map(str.isalnum, line))
                and (at in unread or at - 1 in unread)
                and together
                and (titles < TITLES or not own_numbers or words + len(own) <= titles + 1)
            )
        if open_:
            before = made[-1][1].rstrip()
            end_word = before.rsplit(None, 1)[-1]
            joined = end_word + glue + (line.strip() if glue else line)
            made[-1] = (made[-1][0], before[: -len(end_word)] + joined)
            numbers += figures(joined) - figures(end_word)
            words += len(joined.split()) - 1
        else:
            made.append((at, line))
            numbers, words = own_numbers, len(own)
        if not numbers:
            titles = words
    return made


def unglued(lines: Sequence[str], unread: Collection[int]) -> list[Line]:
    """A table in one line: its titles, then rows of a name and numbers."""
    made: list[Line] = []
    for at, line in enumerate(lines):
        words = line.split()
        numbers = [i for i, word in enumerate(words) if _NUMBER.fullmatch(word)]
        columns = numbers[0] - 1 if numbers else 0
        if (
            at in unread
            and columns >= 4
            and len(words) >= 2 * columns
            and len(words) % columns == 0
        ):
            made += [(at, " ".join(words[i : i + columns])) for i in range(0, len(words), columns)]
        else:
            made.append((at, line))
    return made


REPAIRS: tuple[Repair, ...] = (
    from_quoted_printable,
    from_json,
    from_html_table,
    unframed,
    unsigned,
    *(partial(unprefixed, words) for words in range(1, PREFIX_WORDS + 1)),
    unmarked,
    unspaced,
    unglued,
    unwrapped,
    partial(unwrapped, glue=""),
)
