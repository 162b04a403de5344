"""bcc's and libbpf-tools' `offcputime`: time off the CPU per stack, as it is printed and with -f (folded; so is offwaketime's blocked side).

Layout: offcputime(8). As printed: indented frames, innermost first, `-  comm (tid)` (bcc of 2016: only `comm`), microseconds below.
Folded: `comm;outermost;…;innermost microseconds`; -d puts `-` or `--` between user and kernel frames.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed

NAME = "offcputime"
HINT = r"^[^;]{1,40};\S.*;.* \d+$|^Tracing off-CPU time \(us\)"

_LINE = re.compile(r"([^;]{1,64});(.+) (\d{1,18})")
#: Functions in which a thread leaves the CPU: on-CPU profiles, folded too, have none of them on top.
_OFF = re.compile(
    r"(finish_task_switch|__schedule|schedule|schedule_timeout|io_schedule|preempt_schedule\w*)"
    r"(\.\w+)*(_\[k\]|\+0x[0-9a-f]+)?$"
)


#: What the kernel itself counts as waiting for I/O.
_FOR_IO = re.compile(r"io_schedule(_timeout|_prepare)?\b")
_WHO = re.compile(r"-\s+(\S.{0,63}?) \((\d{1,10})\)")
_FRAME = re.compile(r"(?:#\d+\s+)?(?:(?:0x)?[0-9a-f]{12,16}\s+)?(\S.{0,511})")
_ANYWHERE = ("-", "--")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its line of title, or folded stacks, some of which end in the scheduler."""
    if lines[at].startswith("Tracing off-CPU"):
        return Claim(0.97, again=True)
    near = [_LINE.fullmatch(line[:8192]) for line in lines[at : at + 5]]
    if near[0] is None:
        return None
    off = any(m is not None and _OFF.search(m[2].rsplit(";", 1)[-1]) for m in near)
    return Claim(0.9 if off else 0.5, again=True)


def read(block: Block) -> Parsed:
    """Into stacks, and measurements: microseconds off the CPU of each process and stack."""
    parsed = Parsed(NAME, units="microseconds")
    ids: dict[tuple[str, ...], int] = {}
    for_io: dict[str, float] = {}
    above: list[tuple[int, str]] = []
    printed = False
    for n, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text or text == "^C" or text.startswith("WARNING"):
            _reject(parsed, above)
        elif text.startswith("Tracing off-CPU"):
            printed = True
            parsed.lines_understood += 1
        elif match := _LINE.fullmatch(text[:65536]):
            frames = [re.sub(r"_\[k\]$", "", frame) for frame in reversed(match[2].split(";"))]
            _add(parsed, ids, for_io, match[1], frames, float(match[3]))
            parsed.lines_understood += 1
        elif not printed or len(above) >= 300:
            parsed.reject(n, line)
        elif len(above) < 2 or re.fullmatch(r"\d{1,18}", text, re.ASCII) is None:
            above.append((n, text))
        else:
            # Frames, then whose they are, then this: how long.
            parsed.lines_understood += len(above) + 1
            *stack, (_, who) = above
            named = _WHO.fullmatch(who)
            frames = [match[1] for _, one in stack if (match := _FRAME.fullmatch(one[:600]))]
            _add(parsed, ids, for_io, who[:64] if named is None else named[1], frames, float(text))
            above.clear()
    _reject(parsed, above)
    if for_io:
        most = max(for_io, key=lambda comm: for_io[comm])
        parsed.note(
            f"threads were off the CPU for I/O (io_schedule) for {sum(for_io.values()) / 1e6:,.3g} s together, most of it {most} "
            f"({for_io[most] / 1e6:,.3g} s)"
        )
    return parsed


def _reject(parsed: Parsed, lines: list[tuple[int, str]]) -> None:
    for n, line in lines:
        parsed.reject(n, line)
    lines.clear()


def _add(
    parsed: Parsed,
    ids: dict[tuple[str, ...], int],
    for_io: dict[str, float],
    comm: str,
    every: Sequence[str],
    us: float,
) -> None:
    """One stack, innermost frame first, and the time that was spent in it."""
    frames = tuple(frame for frame in every if frame not in _ANYWHERE)[:128]
    if frames not in ids:
        ids[frames] = len(ids) + 1
        parsed.add("stacks", {"stack_id": ids[frames], "frames": list(frames)})
    if any(_FOR_IO.match(frame) for frame in frames):
        for_io[comm] = for_io.get(comm, 0.0) + us
    parsed.measure(f"{comm} stack {ids[frames]}", "off_cpu_ns", us * 1000)
