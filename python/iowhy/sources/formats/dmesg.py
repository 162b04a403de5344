"""The kernel's log (dmesg, journalctl -k, syslog): tasks that hang, I/O errors, link resets, filesystems' errors.

Sources of the texts: kernel/hung_task.c, block/blk-core.c, drivers/ata/libata-eh.c, drivers/nvme/host/pci.c, fs/ext4/super.c,
fs/xfs/xfs_log.c. A hanging task is listed after 120 s (kernel.hung_task_timeout_secs), with its kernel stack.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _states

NAME = "dmesg"
TOOL = "dmesg"

_HUNG = re.compile(r"INFO: task (.{1,64}):(\d{1,9}) blocked for more than (\d{1,9}) seconds")
_FRAME = re.compile(
    r"(?:\[<[0-9a-fx]+>\]\s*)?(\? )?([A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[.*\])?\s*"
)
#: Event → (what it is called, pattern with the device's name).
_EVENTS = (
    ("io_errors", re.compile(r"(?:critical \w+ error|I/O error), dev (\S+?),? ")),
    ("io_errors", re.compile(r"Buffer I/O error on (?:dev(?:ice)? )?(\S+?),")),
    ("link_resets", re.compile(r"(ata\d+)(?:\.\d+)?: (?:hard|soft) resetting link")),
    ("command_failures", re.compile(r"(ata\d+)(?:\.\d+)?: failed command")),
    ("command_timeouts", re.compile(r"nvme (nvme\d+): I/O (?:tag )?\d+.*timeout")),
    (
        "command_timeouts",
        re.compile(r"sd [\d:]+: \[(sd\w+)\].*(?:timing out|timed out|hostbyte=DID_TIME_OUT)"),
    ),
    ("filesystem_errors", re.compile(r"EXT4-fs (?:error|warning) \(device (\S+?)\)")),
    (
        "filesystem_errors",
        re.compile(r"XFS \((\S+?)\): .*(?:error|corruption|shutdown|Shutting)", re.I),
    ),
    ("filesystem_errors", re.compile(r"BTRFS (?:error|critical|warning) \(device (\S+?)[:)]")),
    ("server_timeouts", re.compile(r"nfs: server (\S+) not responding")),
)
#: "[ 12.345678] ", "[Mon Dec 16 12:34:15 2019] ", "Dec 16 12:34:15 host kernel: [ 12.3] ", "<4>".
_PREFIX = re.compile(
    r"\s*(?:<\d+>)?(?:(?:[A-Z][a-z]{2}\s+\d+ [\d:.]+|\d{4}-\d\d-\d\d[T ]\S+) \S+ kernel: ?)?(?:\[[^\]<]{1,40}\]\s?)?"
)
HINT = (
    r"blocked for more than \d+ seconds|I/O error,? |resetting link|failed command: |EXT4-fs (?:error|warning)"
    r"|XFS \(\S+\): .*(?:rror|orruption|hut)|BTRFS (?:error|critical|warning)|nvme nvme\d+: I/O |not responding, "
    r"(?:still|timed)|hostbyte=DID_TIME"
)
_WORDS = {
    "io_errors": "I/O errors",
    "link_resets": "link resets",
    "command_failures": "failed commands",
    "command_timeouts": "commands that timed out",
    "filesystem_errors": "messages of the filesystem's errors",
    "server_timeouts": "times that the server did not respond",
}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Any line that it understands."""
    text = lines[at]
    known = _HUNG.search(text) or any(pattern.search(text) for _, pattern in _EVENTS)
    return Claim(0.85, again=True) if known else None


def read(block: Block) -> Parsed:
    """Into measurements: events by device, hanging tasks by what their stacks wait for."""
    parsed = Parsed(TOOL, units="counts of messages")
    events: Counter[tuple[str, str]] = Counter()
    tasks: list[tuple[str, int, list[str]]] = []
    waited: dict[int, float] = {}
    in_stack = False
    for at, line in parsed.lines(block):
        text = line[_PREFIX.match(line).end() :]  # type: ignore[union-attr]
        if hung := _HUNG.search(text):
            tasks.append((hung[1], int(hung[2]), []))
            waited[int(hung[2])] = float(hung[3])
            in_stack = True
        elif in_stack and (frame := _FRAME.fullmatch(text.strip())):
            # A frame with a question mark is left over on the stack from an earlier call.
            if not frame[1]:
                tasks[-1][2].append(frame[2].split(".")[0])
        elif found := _event(text):
            events[found] += 1
            in_stack = False
        elif not in_stack and not line.startswith(("[", "<")) and not re.search(r"kernel:", line):
            parsed.reject(at, line)
    for (name, device), count in sorted(events.items()):
        parsed.measure(device, name, float(count))
        parsed.note(f"the kernel's log has {count:,} {_WORDS[name]} of {device}")
    # A task that goes on hanging is listed again and again.
    latest = {tid: _states.Sleeper(tid, comm, _waits_in(frames)) for comm, tid, frames in tasks}
    for tid, sleeper in latest.items():
        parsed.measure(sleeper.named(), "blocked_ns", waited[tid] * 1e9)
    _states.emit(parsed, list(latest.values()), " for longer than the kernel's limit")
    return parsed


def _event(text: str) -> tuple[str, str] | None:
    for name, pattern in _EVENTS:
        if match := pattern.search(text):
            return name, match[1].strip(",:")
    return None


def _waits_in(frames: Sequence[str]) -> tuple[str, ...]:
    """The stack without the scheduler's own frames."""
    own = {"__schedule", "schedule", "schedule_timeout", "io_schedule", "io_schedule_timeout", "context_switch",
           "schedule_preempt_disabled"}  # fmt: skip
    return tuple(frame for frame in frames if frame not in own)
