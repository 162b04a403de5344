"""Text that holds names of files, processes and users, which come from anybody: printed so that a terminal only shows it."""

import json
import re
import sys

#: What JSON may hold as it is and a terminal acts upon: DEL and C1 (ECMA-48), and what turns the direction of
#: a line around (Unicode, UAX #9).
_ACTS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROLS = re.compile(f"[\0-\x1f]|{_ACTS.pattern}")


def printable(text: str) -> str:
    """Text from a recording, safe to print: control characters (also ESC) become visible."""
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable()
        else f"\\x{ord(c):02x}"
        if ord(c) < 256
        else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def without_controls(text: str) -> str:
    """Text for a file that may be shown on a terminal: what one acts upon, also a line's end, is visible, the rest as it is."""
    if text.isprintable():
        return text
    return _CONTROLS.sub(
        lambda found: (
            f"\\x{ord(found[0]):02x}" if found[0] < "\u0100" else f"\\u{ord(found[0]):04x}"
        ),
        text,
    )


def say(text: str) -> None:
    """A message of iowhy's on stderr, at once; it may have several lines."""
    lines = "\n".join(map(printable, text.split("\n")))
    print(f"iowhy: {lines}", file=sys.stderr, flush=True)


def json_text(value: object) -> str:
    """JSON in one line, with letters as they are and whatever a terminal would act upon escaped: it means the same."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isprintable() else _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
