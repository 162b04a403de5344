"""`ps aux`, `ps -el`, `ps -eo …`: processes with their state; also rows that grep took out of `ps aux`.

Manual: ps(1). %CPU is CPU time over the time since the process began. STAT begins with the state (D: uninterruptible
sleep), WCHAN is the kernel function that it sleeps in. All of it is of one moment.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _states
from iowhy.sources.numbers import KIB, number

NAME = "ps"
#: `ps aux` without its title: user, pid, %cpu, %mem, vsz, rss, tty, stat, start, time, command.
_BARE = (
    r"\s*\S+\s+\d+\s+[\d.]+\s+[\d.]+\s+\d+\s+\d+\s+\S+\s+[DRSTtZXIW][<NLsl+]*\s+\S+\s+\d+:\d+\s+\S"
)
#: Rows of `ps -eo pid,state,wchan,cmd` without their title.
_STATES = r"\s*\d{1,9}\s+D[<NLsl+]*\s+(?:[a-z_]\w+\s+\S|[/\[]\S)"
HINT = r"^\s*(?:[A-Z%]+\s+)*PID\s(?:.*\s)?(?:COMMAND|CMD|COMM|WCHAN)\s*$|^" + _BARE + "|^" + _STATES

_ROW = re.compile(_BARE)
_STATE_ROW = re.compile(_STATES)
_AUX = ["USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "TIME", "COMMAND"]
_TEXT = frozenset({"COMMAND", "CMD", "COMM"})
_KNOWN = frozenset(_AUX) | _TEXT | {
    "UID", "PPID", "PGID", "SID", "LWP", "TID", "SPID", "NLWP", "C", "F", "S", "PRI", "NI", "ADDR", "SZ", "WCHAN",
    "STIME", "STARTED", "ELAPSED", "TT", "PSR", "CLS", "RTPRIO", "PCPU", "PMEM", "RUSER", "EUSER", "GROUP", "CPU",
    "PR", "POL", "TGID", "MAJFLT", "MINFLT", "VSIZE", "TIME+", "CGROUP", "LSTART", "ETIMES",
}  # fmt: skip
#: States of a thread that runs or is ready to.
_RUNS = "R"


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A title of columns that ps knows; rows of `ps aux` that lost it."""
    words = lines[at].split()
    if _ROW.match(lines[at]) or _STATE_ROW.match(lines[at]):
        return Claim(0.55, again=True)
    known = set(words) <= _KNOWN and bool(_TEXT & set(words)) and len(words) >= 3
    return Claim(0.85, again=True) if known else None


def read(block: Block) -> Parsed:
    """Into measurements: threads in uninterruptible sleep by what they wait for, and CPU and memory of processes."""
    parsed = Parsed(NAME, units="CPU share since each process began; memory in KiB")
    columns = _untitled(block)
    sleepers: list[_states.Sleeper] = []
    states: list[str] = []
    process = ""
    for at, line in parsed.lines(block):
        words = line.split()
        if set(words) <= _KNOWN and _TEXT & set(words):
            columns = words
            continue
        cells = _cells(columns, words)
        if cells is not None and process and cells.get("PID") == "-":
            # `m`: a thread below its process.
            cells = {name: cell for name, cell in cells.items() if name not in _TEXT}
            cells |= {"PID": process.partition(" ")[0], "COMMAND": process.partition(" ")[2]}
        elif cells is not None:
            process = f"{cells.get('PID', '')} {next((cells[n] for n in _TEXT if n in cells), '?')}"
        if cells is None or not cells.get("PID", cells.get("TID", "")).isdigit():
            parsed.reject(at, line)
            continue
        state = (cells.get("STAT") or cells.get("S") or "?")[:1]
        if state == "-":  # its threads have one each
            continue
        states.append(state)
        _process(parsed, cells, state, block, sleepers)
    _states.emit(parsed, sleepers)
    running = sum(state in _RUNS for state in states)
    if running:
        parsed.measure("all", "runnable_threads", float(running))
    if states and not sleepers and "?" not in states:
        parsed.note("no thread is in uninterruptible sleep at the moment that ps shows")
    if states and set(states) <= {"D"}:
        parsed.partial = "only threads in uninterruptible sleep are listed"
    if sleepers and not any(one.where for one in sleepers):
        parsed.missing.append("ps -eo pid,stat,wchan:40,comm | awk '$2 ~ /^D/'")
    return parsed


def _untitled(block: Block) -> list[str]:
    """The columns of rows without a title: those that the command names, or that their shape shows."""
    first = block.lines[0] if block.lines else ""
    if not _ROW.match(first) and not _STATE_ROW.match(first):
        return []
    for word in " ".join(block.command or ()).split():
        named = re.fullmatch(r"(?:-[a-zA-Z]*o)?((?:[a-z%]+(?::\d+)?,)+[a-z%]+(?::\d+)?)", word)
        if named:
            names = [re.sub(r":\d+$", "", name).upper() for name in named[1].split(",")]
            return [_SAME.get(name, name) for name in names]
    if _ROW.match(first):
        return _AUX
    # A path or a kernel thread is no function that is slept in.
    bare = first.split()[2].startswith(("/", "["))
    return ["PID", "STAT", "CMD"] if bare else ["PID", "STAT", "WCHAN", "CMD"]


#: ps' other names of columns.
_SAME = {
    "STATE": "STAT",
    "ARGS": "COMMAND",
    "COMM": "COMMAND",
    "CMD": "COMMAND",
    "UCMD": "COMMAND",
    "S": "STAT",
}


def _process(
    parsed: Parsed,
    cells: dict[str, str],
    state: str,
    block: Block,
    sleepers: list[_states.Sleeper],
) -> None:
    pid = int(cells.get("PID", cells.get("TID", "0"))[:18])
    tid = int(cells["LWP"]) if cells.get("LWP", "").isdigit() else pid
    text = next((cells[name] for name in _TEXT if name in cells), "?")
    comm = _comm(text)
    block.names.thread(tid, pid, comm)
    if state == "D":
        wchan = cells.get("WCHAN", "-").split(".")[0]
        where = () if wchan in {"-", "?", "0", "*"} or wchan.isdigit() else (wchan,)
        sleepers.append(_states.Sleeper(tid, comm, where))
    share = number(cells.get("%CPU", cells.get("PCPU", "")))
    subject = f"{comm} ({pid})"
    if share:
        parsed.measure(subject, "since_start_cpu_share", share / 100)
    resident = number(cells.get("RSS", ""))
    if resident and share:
        parsed.measure(subject, "resident_bytes", resident * KIB)


def _cells(columns: Sequence[str], words: Sequence[str]) -> dict[str, str] | None:
    """By place from both ends; what is too much belongs to the command."""
    extra = len(words) - len(columns)
    at = next((i for i, name in enumerate(columns) if name in _TEXT), None)
    if at is None or extra < 0:
        return None
    behind = len(columns) - at - 1
    end = len(words) - behind
    cells = dict(zip(columns[:at], words[:at], strict=True))
    cells[columns[at]] = " ".join(words[at:end])
    cells |= dict(zip(columns[at + 1 :], words[end:], strict=True))
    return cells


def _comm(command: str) -> str:
    """The program's name: without path and arguments; a kernel thread's without brackets."""
    text = re.sub(r"^(?:[|\\_ ]+)", "", command)
    if text.startswith("["):
        return text[1:].split("]")[0][:64]
    return (text.split() or ["?"])[0].rsplit("/", 1)[-1].rstrip(":")[:64]
