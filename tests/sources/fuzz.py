"""Damaged outputs through every reader: `python -m tests.sources.fuzz SECONDS [FORMAT|all [FIRST_SEED]]`, or `make fuzz`.

One text of ten goes the whole way of a paste; of the others some lines go to the reader alone, which takes a tenth of the time.
What fails is written to tests/sources/corpus, which the tests replay. Seeds count up, so a run can be repeated.
"""

import random
import re
import sys
import time
from pathlib import Path

from iowhy.sources.format import Block, Format, Parsed
from iowhy.sources.formats import formats
from iowhy.sources.names import Names
from iowhy.sources.paste import STUMBLED, decode, read_block, split

from .test_other_tools import TEXTS

CORPUS = Path(__file__).parent / "corpus"
FIXTURES = Path(__file__).parent / "fixtures"
_NUMBER = re.compile(rb"\d+")
_TOKENS = [
    b"-1", b"1,234", b"999999999999999999999", b"1e308", b"nan", b"inf", b"0", b"\x00", b"\xff\xfe", b"18446744073709551615",
    b"%", b"[", b"{", b'"', b">", b"```", b"\r", b"\t", b"\x1b[2J", b"", "\u00a0".encode(), "１２".encode(),
]  # fmt: skip


def seeds() -> dict[str, list[bytes]]:
    """The fixtures by the format that takes them."""
    found: dict[str, list[bytes]] = {}
    pastes = (FIXTURES.parent / "pastes").glob("*.txt")
    files = [*FIXTURES.glob("*.txt"), *FIXTURES.glob("*.json"), *CORPUS.glob("*"), *pastes]
    for data in [path.read_bytes() for path in sorted(files)] + [
        text.encode() for _, text, _ in TEXTS.values()
    ]:
        parts = split(decode(data, "x"), "x", Names()).parts
        if parts:
            found.setdefault(parts[0].format, []).append(data)
    return found


def mutant(data: bytes, other: bytes, seed: int) -> bytes:
    """The text with numbers, tokens and lines changed, cut, doubled, or spliced with another text."""
    dice = random.Random(seed)
    lines = data.split(b"\n")
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(lines))
        kind = dice.randrange(7)
        if kind == 0:
            numbers = list(_NUMBER.finditer(lines[at]))
            if numbers:
                hit = dice.choice(numbers)
                lines[at] = lines[at][: hit.start()] + dice.choice(_TOKENS) + lines[at][hit.end() :]
        elif kind == 1:
            where = dice.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:where] + dice.choice(_TOKENS) + lines[at][where:]
        elif kind == 2:
            del lines[at]
            lines = lines or [b""]
        elif kind == 3:
            lines[at:at] = [lines[at]] * dice.choice([1, 2, 50])
        elif kind == 4:
            lines[at] = lines[at][: dice.randrange(len(lines[at]) + 1)]
        elif kind == 5:
            words = lines[at].split()
            dice.shuffle(words)
            lines[at] = b" ".join(words)
        else:
            rows = other.split(b"\n")
            start = dice.randrange(len(rows))
            lines[at:at] = rows[start : start + dice.randint(1, 5)]
    return b"\n".join(lines)


def fails(data: bytes) -> str | None:
    """How a text makes a reader stumble; None when none does."""
    lines = decode(data, "x")
    try:
        parts = split(lines, "x", Names()).parts
    except Exception as error:
        return repr(error)
    for part in parts:
        for note in part.parsed.notes:
            if STUMBLED in note:
                return note
        if part.parsed.lines_understood > part.lines:
            return f"{part.format}: understands more lines than there are"
    return None


#: Lines of a text that a reader alone is given: titles and a screen or two.
LINES = 24


def stumbles(form: Format, data: bytes, seed: int) -> str | None:
    """How some lines of a text, its first ones half of the time, make one reader stumble; None when they do not."""
    lines = decode(data, "x")
    dice = random.Random(seed)
    start = dice.choice([0, dice.randrange(len(lines) + 1)])
    # As `paste` hands them over: with long lines cut, and with what it does to numbers afterwards.
    return _why(read_block(form, Block(lines[start : start + LINES], 1, "x", Names(), None)))


def _why(parsed: Parsed) -> str | None:
    return next((note for note in parsed.notes if STUMBLED in note), None)


def main() -> int:
    """Fuzz for so many seconds; 1 when something failed."""
    known = {form.name: form for form in formats() if form.read is not None and form.stream is None}
    texts = {name: found for name, found in seeds().items() if name in known}
    if len(sys.argv) > 2 and sys.argv[2] != "all":
        texts = {name: found for name, found in texts.items() if name == sys.argv[2]}
    every = [data for found in texts.values() for data in found]
    first = seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    failures = 0
    end = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 60)
    while time.monotonic() < end:
        for name, found in texts.items():
            seed += 1
            data = mutant(found[seed % len(found)], every[seed * 7 % len(every)], seed)
            why = fails(data) if seed % 10 == 0 else stumbles(known[name], data, seed)
            if why is not None:
                failures += 1
                (CORPUS / f"{name}-{seed}.txt").write_bytes(data)
                print(f"{name} seed {seed}: {why}")
    print(f"{seed - first:,} texts, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
