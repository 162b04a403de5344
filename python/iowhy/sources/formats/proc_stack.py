"""`/proc/PID/stack`: where in the kernel a thread is at one moment."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.tracing.stacks import OTHER, reason

NAME = "proc-stack"
TOOL = "/proc/PID/stack"
HINT = r"^\[<(?:0|[0-9a-f]{8,16})>\] \w[\w.]*\+0x[0-9a-f]+/0x"

_FRAME = re.compile(
    r"\[<[0-9a-f]+>\] (\w[\w.]*?)(?:\.\w+\.\d+)*\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[\w+\])?"
)
_END = re.compile(r"\[<[0-9a-f]+>\] 0xf+")
_PID = re.compile(r"/proc/(?:\d{1,9}/task/)?(\d{1,9})/stack\b")
SURE = 0.85


def read(block: Block) -> Parsed:
    """Into a measurement: the thread, where it is and what it waits for."""
    parsed = Parsed(TOOL)
    frames = []
    for at, line in parsed.lines(block):
        if frame := _FRAME.fullmatch(line.strip()):
            frames.append(frame[1])
        elif not _END.fullmatch(line.strip()):
            parsed.reject(at, line)
    named = _PID.search(" ".join(block.command or ()))
    if frames:
        why = reason(frames)
        known = "" if why == OTHER else f" ({why})"
        thread = f"thread {named[1]}" if named else "the thread"
        parsed.measure(f"{thread} is in {frames[0]}{known}", "in_kernel", 1.0)
    return parsed
