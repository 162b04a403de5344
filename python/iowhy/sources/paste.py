"""Split a paste into the outputs of the tools in it.

An incident channel's text has prompts, prose, several tools' output, markdown fences, terminal
colours, Windows line ends and lines cut at either end. Each line is asked whether some format's
output begins there; a block runs to the next beginning, prompt, fence or the end. Lines are counted as in
the file, so that whatever was not understood can be listed with its number.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.sources import decimals, layout, plausible, prompt, repairs
from iowhy.sources.format import LINE_CHARACTERS, REJECTS_KEPT, Block, Claim, Format, Parsed, Part
from iowhy.sources.formats import formats
from iowhy.sources.names import Names

#: A paste is held in memory; what is larger has to be one log of a format that streams.
PASTE_MAX_BYTES = 32 * 1024 * 1024
#: Each line costs some 100 bytes and 10 µs, however short it is.
PASTE_MAX_LINES = 2_000_000
#: A hint is searched for in this much of a line: headers are short, hostile lines are not.
HINT_CHARACTERS = 512

#: A longer text is not tried with repairs, each of which reads it anew.
REPAIRED_LINES = 5_000
REPAIRED_CHARACTERS = 1_000_000
#: How many repairs may be needed together: a table in Markdown, in a mail, in a log.
REPAIRS_TOGETHER = 4

#: How sure a format must be of a line to take the blanks before it off.
OUTDENTS = 0.8

#: Begins the note on a part whose reader failed; the tests look for it.
STUMBLED = "not readable as"

# CSI, OSC and two-character escape sequences (ECMA-48).
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[@-Z\\-_])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")
_BLANKS = re.compile(r"[\u00a0\u2000-\u200a\u202f\u3000]")
#: The wide forms of ASCII that Chinese and Japanese texts have, the colon above all.
_WIDE = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
#: Lines of numbers begin no output: most lines of long samples need not be asked for one.
NUMBERS = re.compile(r"[\d\s.,:%+/-]*")


class Split(Struct):
    """A paste, taken apart: its parts, and the lines outside that belong to none."""

    parts: list[Part] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)
    unread_dropped: int = 0


def decode(data: bytes, source: str) -> list[str]:
    """The lines of a text without line ends, colours, NULs and other control characters.

    A carriage return inside a line rewrites it on a terminal, so what follows the last one stays.
    Bytes that are not UTF-8 become U+FFFD. Raises Problem when it is larger than a paste may be.
    """
    lines_in = data.count(b"\n")
    if len(data) > PASTE_MAX_BYTES or lines_in > PASTE_MAX_LINES:
        raise too_large(source, len(data), lines_in)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.decode("utf-8-sig", errors="replace")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [_clean(line) for line in lines]


def too_large(source: str, size: int, lines: int | None = None) -> Problem:
    """What to say of a text that no format streams and that is too large to be held."""
    amount = f"{size:,} bytes" + ("" if lines is None else f" in {lines:,} lines")
    return Problem("log-too-large", path=source, amount=amount)


def _clean(line: str) -> str:
    line = line.removesuffix("\r")
    if not line.isascii():
        line = line.translate(_WIDE)
    if line.isprintable():
        return line
    line = _ESCAPES.sub("", line)
    if "\r" in line:
        line = line.rstrip("\r").rsplit("\r", 1)[-1]
    return _CONTROL.sub("", _BLANKS.sub(" ", line))


def split(lines: Sequence[str], source: str, names: Names, only: Format | None = None) -> Split:
    """Take a paste apart and read each part. With `only`, all lines are that format's."""
    result = Split()
    if only is not None:
        assert only.read is not None
        block = Block(lines, 1, source, names, None)
        result.parts.append(Part(source, only.name, 1, len(lines), read_block(only, block)))
        return result
    lines = _outdented(layout.plain(lines))
    small = len(lines) <= REPAIRED_LINES and sum(map(len, lines)) <= REPAIRED_CHARACTERS
    return (_repaired if small else _taken)(lines, source, names)


def _taken(lines: Sequence[str], source: str, names: Names) -> Split:
    """A plain text, taken apart."""
    result = Split()
    for start, end, command, form in _blocks(lines):
        if form is None or form.read is None:
            for at in range(start, end):
                _unread(result, at + 1, lines[at])
            continue
        block = Block(lines[start:end], start + 1, source, names, command)
        parsed = read_block(form, block)
        result.parts.append(Part(source, form.name, start + 1, end - start, parsed))
    _count_skipped(result, lines)
    return result


def _unread_places(found: Split) -> set[int]:
    places = {number - 1 for number, _ in found.unread}
    return places | {number - 1 for part in found.parts for number, _ in part.parsed.rejects}


def _count_skipped(found: Split, lines: Sequence[str]) -> None:
    """Rows of each part that were understood, and that were not: those without an empty line between them and its other lines."""
    unread = _unread_places(found)
    for part in found.parts:
        places = range(part.first_line - 1, part.first_line - 1 + part.lines)
        own = {at for at in places if at not in unread and lines[at].strip()}
        part.parsed.figures = sum(repairs.is_row(lines[at]) for at in own)
        near = {*own}
        for step in (1, -1):
            at = -1
            for at in sorted(near, key=lambda place: step * place):
                while 0 <= at + step < len(lines) and at + step in unread and at + step not in near:
                    if not lines[at + step].strip():
                        break
                    at += step
                    near.add(at)
        part.parsed.skipped = sum(at in unread and repairs.is_debris(lines[at]) for at in near)


def _repaired(lines: Sequence[str], source: str, names: Names) -> Split:
    """A text taken apart after those repairs by which more of its figures are understood, the best one first."""
    known = names.copy()
    found = _taken(lines, source, known)
    origin: Sequence[int] = range(len(lines))
    for _ in range(REPAIRS_TOGETHER):
        unread = _unread_places(found)
        if not any(any(map(str.isdigit, lines[at])) for at in unread if at < len(lines)):
            break
        best = _understood(found, lines, unread)
        better: tuple[list[repairs.Line], Split, Names] | None = None
        for repair in repairs.REPAIRS:
            made = repair(lines, unread)
            texts = [text for _, text in made]
            if texts == lines or len(texts) > 2 * REPAIRED_LINES:
                continue
            tried = names.copy()
            result = _taken(texts, source, tried)
            score = _understood(result, texts, _unread_places(result))
            # A line that a repair only hides (joined to one that was read, without the word that is known) brings no value.
            if score > best and _values(result) > _values(found):
                best, better = score, (made, result, tried)
        if better is None:
            break
        made, found, known = better
        lines = [text for _, text in made]
        origin = [origin[at] for at, _ in made]
    names.take(known)
    return _renumbered(found, origin)


def _understood(found: Split, lines: Sequence[str], unread: Collection[int]) -> tuple[int, int]:
    """How many numbers are in lines that are understood, and how many lines these are."""
    understood = [
        lines[at]
        for part in found.parts
        for at in range(part.first_line - 1, part.first_line - 1 + part.lines)
        if at not in unread and part.parsed.lines_understood and lines[at].strip()
    ]
    return sum(map(repairs.figures, understood)), len(understood)


def _values(found: Split) -> int:
    """How much the parts say."""
    return sum(
        sum(map(len, part.parsed.tables.values()))
        + len(part.parsed.snapshots)
        + len(part.parsed.host)
        + len(part.parsed.notes)
        + sum(
            len(group.starts) * max(1, len(group.counters))
            for group in part.parsed.intervals.groups()
        )
        for part in found.parts
    )


def _renumbered(found: Split, origin: Sequence[int]) -> Split:
    """With the numbers that lines have in the file."""
    if isinstance(origin, range):
        return found
    for part in found.parts:
        part.parsed.rejects = [
            (origin[number - 1] + 1, text) for number, text in part.parsed.rejects
        ]
    parts = []
    for part in found.parts:
        if part.lines:
            first, last = (
                origin[at - 1] + 1 for at in (part.first_line, part.first_line + part.lines - 1)
            )
            part = replace(part, first_line=first, lines=last - first + 1)
            # Of one line that was taken apart several may have been understood.
            part.parsed.lines_understood = min(part.parsed.lines_understood, part.lines)
        parts.append(part)
    return Split(
        parts,
        [(origin[number - 1] + 1, text) for number, text in found.unread],
        found.unread_dropped,
    )


def read_block(form: Format, block: Block) -> Parsed:
    """One part; whatever its reader stumbles over loses this part, and no other."""
    assert form.read is not None
    unsettled = False
    if not form.long_lines:
        lines: Sequence[str] = [line[:LINE_CHARACTERS] for line in block.lines]
        if not form.commas_part:
            lines, unsettled = decimals.settled(lines)
        block = replace(block, lines=lines)
    try:
        parsed = form.read(block)
        plausible.sift(parsed)
    except Problem as problem:
        return _unreadable(form, block, problem.args[0], problem)
    except Exception as error:  # a mistake of this reader's own, which the text brought to light
        return _unreadable(form, block, f"{STUMBLED} {form.name}: {error!r}"[:300], None)
    if unsettled:
        parsed.note(
            f"{block.source}, line {block.first_line} on: whether the comma of 1,234 is a decimal sign "
            "cannot be seen: such numbers count for nothing"
        )
    return parsed


def _unreadable(form: Format, block: Block, why: object, problem: Problem | None) -> Parsed:
    """Nothing read; all lines are listed."""
    parsed = Parsed(form.tool, problem=problem)
    parsed.note(f"{block.source}, line {block.first_line} on: {why}")
    for number, line in enumerate(block.lines, block.first_line):
        if line.strip():
            parsed.reject(number, line)
    return parsed


def _unread(result: Split, number: int, text: str) -> None:
    # A rule of dashes says nothing, and an empty line neither.
    if _FENCE.match(text) or not any(character.isalnum() for character in text):
        return
    if len(result.unread) < REJECTS_KEPT:
        result.unread.append((number, text[:200]))
    else:
        result.unread_dropped += 1


def _outdented(lines: list[str]) -> list[str]:
    """Without blanks before a line that is a header only without them.

    From the last line to the first: a banner is known by the header below it.
    """
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line[:1] not in (" ", "\t") or NUMBERS.fullmatch(line[:HINT_CHARACTERS]):
            continue
        bare = line.lstrip()
        if not _hinted(bare[:HINT_CHARACTERS]) or _hinted(line[:HINT_CHARACTERS]):
            continue
        lines[at] = bare
        found = _best(lines, at, None)
        if found is None or found[1].sure < OUTDENTS:
            lines[at] = line
    return lines


@cache
def _any_hint() -> re.Pattern[str]:
    """Matches where any format's hint does."""
    return re.compile("|".join(f"(?:{f.hint.pattern})" for f in formats() if f.hint))


#: A header comes again and again, and each repair of a text has most of its lines.
@lru_cache(maxsize=4096)
def _hinted(head: str) -> frozenset[str]:
    """The names of the formats whose hint the begin of a line has."""
    if _any_hint().search(head) is None:
        return frozenset()
    return frozenset(f.name for f in formats() if f.hint and f.hint.search(head))


def _blocks(
    lines: Sequence[str],
) -> Iterable[tuple[int, int, tuple[str, ...] | None, Format | None]]:
    """(first, end, command, format) of each stretch of lines; a prompt line is in none of them."""
    tools = {word for form in formats() for word in form.tool.split()} | prompt.BEFORE_COMMAND
    start = 0
    current: Format | None = None
    command: tuple[str, ...] | None = None
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            yield start, at, command, current
            start, current, command = at, None, None
            continue
        typed = prompt.typed(line, tools)
        if typed is not None:
            yield start, at, command, current
            start, current, command = at + 1, None, typed
            continue
        head = line[:HINT_CHARACTERS]
        if NUMBERS.fullmatch(head) or not _hinted(head):
            continue
        best = _best(lines, at, current)
        if best is None:
            continue
        form, claim = best
        if form is current and claim.again:
            continue
        if current is not None and current.histograms and form.histograms and claim.sure < 0.5:
            continue
        yield start, at, command, current
        # What was typed at the prompt is the command of the first block behind it, and of what else the same tool prints.
        command = command if current is None or current.tool == form.tool else None
        start, current = at, form
    yield start, len(lines), command, current


def _best(lines: Sequence[str], at: int, current: Format | None) -> tuple[Format, Claim] | None:
    found: tuple[Format, Claim] | None = None
    hinted = _hinted(lines[at][:HINT_CHARACTERS])
    for form in formats():
        if form.name not in hinted or form.sniff is None:
            continue
        claim = form.sniff(lines, at)
        if claim is None:
            continue
        sure = claim.sure + (0.05 if form is current else 0.0)
        if found is None or sure > found[1].sure + (0.05 if found[0] is current else 0.0):
            found = (form, claim)
    return found
