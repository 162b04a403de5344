"""`dd`: the lines that it ends with, GNU's and BSD's.

GNU: "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 430 MB/s"; BSD and macOS: "1073741824 bytes transferred in
2.5 secs (429496729 bytes/sec)". The seconds include what dd itself waits for, a sync only with conv=fsync.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number, size

NAME = "dd"
HINT = r"^\s*\d+\+\d+ records in|^\s*`?\d+ bytes (?:\(.*\) copied, |transferred in )|^\s*(?:\w+ )?dd (?:if|of|bs)=\S"

#: What makes the rate that of the device: written around the page cache, or through it before dd ends.
_DIRECT = re.compile(r"(?:oflag|iflag)=\S*direct|-?\bconv=\S*f(?:data)?sync|oflag=\S*d?sync")

_BLOCK = re.compile(r"\bbs=(\d{1,12}[kKMG]?)B?\b")
#: Lines of `time`: the shell's, bash's and busybox'.
_REAL = re.compile(r"real\s+(?:(\d{1,6})m ?)?(\d{1,9}\.?\d{0,6})s?")
_OF_TIME = re.compile(r"(?:user|sys)\s+(?:\d{1,6}m ?)?[\d.]{1,12}s?")
_RECORDS = re.compile(r"(\d{1,18})\+(\d{1,18}) records (in|out)")
_RESULT = re.compile(
    r"(\d{1,18}) bytes (?:\([^)]*\) copied, ([\d.,e+-]+) s(?:ec\w*)?,|transferred in ([\d.,]+) secs).*"
)
#: A command line that stands above its result without a prompt.
_COMMAND = re.compile(
    r"(?:\w+ )?dd (?:(?:if|of|bs|count|conv|[io]flag|status|skip|seek|[io]bs)=\S+ ?)+"
)
NEAR = (rf"^\s*{_RECORDS.pattern}|^\s*`?{_RESULT.pattern}$", 4)


def read(block: Block) -> Parsed:
    """Into measurements: bytes, seconds and bytes per second of each run."""
    parsed = Parsed(NAME, units="bytes, seconds")
    runs = 0
    counted = any(_RECORDS.fullmatch(line.strip()) for line in block.lines)
    blocks: int | None = None
    command = " ".join(block.command or ())
    for at, line in parsed.lines(block):
        text = line.strip().strip("`")
        if _COMMAND.fullmatch(text):
            command += f" {text}"
        elif match := _RECORDS.fullmatch(text):
            if match[3] == "out":
                blocks = int(match[1])
        elif match := _RESULT.fullmatch(text):
            seconds = _seconds(match[2] or match[3])
            if not seconds:
                parsed.reject(at, line)
                continue
            if counted and blocks is None:
                continue
            runs, subject = runs + 1, _subject(runs)
            total = float(match[1])
            parsed.measure(subject, "bytes_per_s", total / seconds)
            parsed.measure(subject, "elapsed_s", seconds)
            if blocks:
                parsed.measure(subject, "block_bytes", total / blocks)
            blocks = None
        elif blocks and (match := _REAL.fullmatch(text)) and (each := _BLOCK.search(command)):
            # busybox prints no rate: `time` has the seconds, bs= the bytes.
            seconds, length = 60.0 * float(match[1] or 0) + float(match[2]), size(each[1])
            if seconds and length:
                runs, subject = runs + 1, _subject(runs)
                parsed.measure(subject, "bytes_per_s", blocks * length / seconds)
                parsed.measure(subject, "block_bytes", length)
            blocks = None
        elif not runs or _OF_TIME.fullmatch(text) is None:
            parsed.reject(at, line)
    if runs and _DIRECT.search(command):
        parsed.measure("dd", "direct", 1.0)
        parsed.missing.append("iostat -x 1 10")
    elif runs:
        parsed.note(
            "dd's rate is of the page cache unless it syncs (conv=fsync) or goes around it (direct)"
        )
        parsed.missing.append("sudo iowhy run -- CMD")
    return parsed


def _subject(before: int) -> str:
    """What a run is called that follows so many."""
    return f"dd #{before + 1}" if before else "dd"


def _seconds(text: str) -> float | None:
    if "e" in text:
        try:
            return float(text)
        except ValueError:
            return None
    return number(text)
