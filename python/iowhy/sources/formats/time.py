"""`time` of bash, POSIX (-p), zsh and GNU (also -v): how long a command took, and for how long of it CPUs worked for it.

Manuals: bash(1), zshmisc(1), time(1). GNU's inputs and outputs are blocks of 512 bytes that went to or came from devices.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import NS_PER_S, number

NAME = "time"
HINT = (
    r"^\s*real\s+\d|^\s*Command being timed: |\d\s*s? ?user +\d[\d.]*s? ?system .*(?:total|elapsed)"
)
SURE = 0.9
FIRST = (
    r"\s*real\s+[\dm.,s]+\s*\n\s*user\s+[\dm.,s]+\s*\n\s*sys\s+[\dm.,s]+\s*$|\s*Command being timed: |.*\duser \d.*elapsed|.*s user .*s system .* total",
    3,
)

_BASH = re.compile(r"\s*(real|user|sys)\s+(?:(\d{1,6})m)?(\d{1,9}(?:[.,]\d{1,9})?)s?\s*")
_ZSH = re.compile(
    r"\s*(?:(?P<command>\S.{0,400}?)\s+)?(?P<user>[\d.]{1,12})s? ?user +(?P<sys>[\d.]{1,12})s? ?system +(?:\d+% cpu )?"
    r"(?P<real>[\d:.]{1,16})(?:s? total| ?elapsed\b).*"
)
_BLOCKS = re.compile(r".*?(\d{1,15})inputs\+(\d{1,15})outputs \((\d{1,15})major\+.*")
_LONG = re.compile(r"\s*([A-Z][^:]{3,40}(?: \([^)]*\))?(?: time \([^)]*\))?): (.{1,4000})")
_METRICS = {
    "User time (seconds)": ("user_ns", NS_PER_S),
    "System time (seconds)": ("kernel_ns", NS_PER_S),
    "Major (requiring I/O) page faults": ("major_faults", 1),
    "File system inputs": ("read_bytes", 512),
    "File system outputs": ("written_bytes", 512),
}
_PROGRAM = re.compile(r"[\w./+-]{1,60}(?=\s|$)")
_UNNAMED = "the command"
_NAMES = {"real": "elapsed_ns", "user": "user_ns", "sys": "kernel_ns"}


def read(block: Block) -> Parsed:
    """Into measurements; the subject is the command, where the text shows it."""
    parsed = Parsed(NAME)
    words = [word for word in block.command or () if word != "-p"]
    subject = " ".join(words)[:200] if words and words[0] != "time" else _UNNAMED
    found: dict[str, float | None] = {}
    for at, line in parsed.lines(block):
        if match := _BASH.fullmatch(line):
            found[_NAMES[match[1]]] = _ns(f"{match[2] or 0}:{match[3]}")
        elif match := _ZSH.fullmatch(line):
            subject = match["command"] or subject
            found |= {metric: _ns(match[name]) for name, metric in _NAMES.items()}
        elif match := _BLOCKS.fullmatch(line):
            found |= {"read_bytes": 512 * float(match[1]), "written_bytes": 512 * float(match[2])}
            found["major_faults"] = float(match[3])
        elif match := _LONG.fullmatch(line):
            if match[1] == "Command being timed":
                subject = match[2].strip('"')[:200]
            elif match[1].startswith("Elapsed"):
                found["elapsed_ns"] = _ns(match[2].split()[-1])
            elif match[1] in _METRICS:
                metric, unit = _METRICS[match[1]]
                value = number(match[2])
                found[metric] = None if value is None else value * unit
        else:
            parsed.reject(at, line)
    parsed.measures(subject, found)
    # A pasted command is shown, and never as one to run.
    program = _PROGRAM.match(subject)
    if program and subject != _UNNAMED:
        parsed.missing.append(f"iowhy run -- {program[0]} …")
    return parsed


def _ns(text: str) -> float | None:
    """Of hours, minutes and seconds between colons."""
    ns = 0.0
    for part in text.replace(",", ".").split(":"):
        value = number(part)
        if value is None:
            return None
        ns = 60 * ns + value * NS_PER_S
    return ns
