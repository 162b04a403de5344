"""The kernel's log (dmesg, journalctl -k, syslog): tasks that hang (kernel/hung_task.c), and what it says of disks and filesystems.

A hanging task is listed after 120 s (kernel.hung_task_timeout_secs), with its kernel stack.
"""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _states
from iowhy.tables.kernel_messages import event_of
from iowhy.units import plural

NAME = "dmesg"
#: A shorter part of a log shows nothing by what it does not have.
SHORTEST_S = 1.0

_HUNG = re.compile(r"INFO: task (.{1,64}):(\d{1,9}) blocked for more than (\d{1,9}) seconds")
#: A task in SysRq-w's list, or after "blocked for more than": name, state, thread.
_TASK = re.compile(
    r"(?:task:)?(\S.{0,63}?)\s+(?:state:)?D\s+(?:stack:\s*\d+\s+pid:\s*(\d{1,9})\s+(?:tgid:\s*\d+\s+)?ppid:|[0-9a-f]+\s+\d+\s+(\d{1,9})\s+\d+\s)"
)
_FRAME = re.compile(
    r"(?:\[<[0-9a-fx]+>\]\s*)?(\? )?([A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[.*\])?\s*"
)
#: Of 32-bit ARM: a function, and the one that called it, which the next line has again.
_ARM_FRAME = re.compile(r"(?:\[<[0-9a-f]+>\] )?\(([A-Za-z_][\w.]*)\) from \[<[0-9a-f]+>\].*")
#: "[ 12.345678] ", "[Mon Dec 16 12:34:15 2019] ", "Dec 16 12:34:15 host kernel: [ 12.3] ", "<4>".
_PREFIX = re.compile(
    r"\s*(?:<\d+>)?(?:(?:[A-Z][a-z]{2}\s+\d+ [\d:.]+|\d{4}-\d\d-\d\d[T ]\S+) \S+ kernel: ?)?(?:\[[^\]<]{1,40}\]\s?)?"
)
#: The kernel's own stamp: seconds since it started.
_STAMPED = re.compile(r"(?:^(?:<\d+>)?|kernel: ?)\[ *(\d{1,12}\.\d{6})\] \S")
_BLOCKED_LIST = re.compile(r"SysRq ?: Show Blocked State|sysrq: Show Blocked State")
HINT = (
    r"invoked oom-killer: |blocked for more than \d+ seconds|I/O error,? |critical \w+ error, dev |resetting link|failed command: |EXT4-fs (?:error|warning)"
    r"|XFS \(\S+\): .*(?:rror|orruption|hut)|BTRFS (?:error|critical|warning)|nvme nvme\d+: (?:I/O |queue \d+: timeout|failed nvme_keep)|block nvme\d+n\d+: no usable path|not responding, "
    r"(?:still|timed)|hostbyte=DID_TIME|nvme nvme\d+: (?:controller is|Removing|Device not)|mmc(?:blk)?\d+: (?:Timeout|error|card)"
    r"|rejecting I/O to offline|Device offlined|SysRq : Show Blocked State|sysrq: Show Blocked State|^\[ *\d+\.\d{6}\] \S|kernel: \[ *\d+\.\d{6}\]"
)
_WORDS = {
    "io_errors": "I/O error",
    "link_resets": "link reset",
    "command_failures": "failed command",
    "media_errors": "medium error",
    "command_timeouts": "command timeout",
    "filesystem_errors": "filesystem error",
    "server_timeouts": "server timeout",
    "gone": "removal",
    "lost_paths": "lost path",
}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Any line that it understands; else lines that the kernel stamped with seconds, unless another format claims them."""
    text = lines[at]
    known = _HUNG.search(text) or _BLOCKED_LIST.search(text) or event_of(text)
    if known:
        return Claim(0.85, again=True)
    near = lines[at : at + 3]
    plain = all(_STAMPED.search(one) for one in near) and len(near) > 1
    return Claim(0.3, again=True) if plain else None


class _Log(Struct):
    """What was read so far: events by device, tasks that hang, the kernel's seconds."""

    events: Counter[tuple[str, str]] = field(default_factory=Counter)
    tasks: list[tuple[str, int, list[str]]] = field(default_factory=list)
    hung: dict[int, float] = field(default_factory=dict)
    stamps: list[float] = field(default_factory=list)
    in_stack: bool = False

    def take(self, text: str) -> bool:
        """One line without its time; whether it was understood."""
        if hung := _HUNG.search(text):
            self.tasks.append((hung[1], int(hung[2]), []))
            self.hung[int(hung[2])] = float(hung[3])
            self.in_stack = True
        elif (task := _TASK.match(text)) and not self._listed(int(task[2] or task[3])):
            self.tasks.append((task[1], int(task[2] or task[3]), []))
            self.in_stack = True
        elif self.in_stack and (frame := _FRAME.fullmatch(text.strip())):
            # A frame with a question mark is left over on the stack from an earlier call.
            if not frame[1]:
                self.tasks[-1][2].append(frame[2].split(".")[0])
        elif self.in_stack and (frame := _ARM_FRAME.fullmatch(text.strip())):
            self.tasks[-1][2].append(frame[1].split(".")[0])
        elif found := event_of(text):
            self.events[found] += 1
            self.in_stack = False
        else:
            return self.in_stack
        return True

    def _listed(self, tid: int) -> bool:
        """Whether that thread's stack is under way: "blocked for more than" comes before the task's own line."""
        return self.in_stack and self.tasks[-1][1] == tid


def read(block: Block) -> Parsed:
    """Into measurements: events by device, hanging tasks by what their stacks wait for; or that the log has none."""
    parsed = Parsed(NAME, units="counts of messages")
    log = _Log()
    for at, line in parsed.lines(block):
        prefix = _PREFIX.match(line)
        assert prefix is not None
        if (stamp := _STAMPED.search(line)) and stamp[1]:
            log.stamps.append(float(stamp[1]))
        understood = log.take(line[prefix.end() :])
        if not understood and not prefix[0].strip() and not re.search(r"kernel:", line):
            parsed.reject(at, line)
    for (name, device), count in sorted(log.events.items()):
        parsed.measure(device, name, float(count))
        what = (
            f"{plural(count, 'shortage')} of memory for"
            if name == "out_of_memory"
            else f"{plural(count, _WORDS[name])} of"
        )
        parsed.note(f"the kernel's log has {what} {device}")
    # A task that goes on hanging is listed again and again.
    latest = {tid: _states.Sleeper(tid, comm, _waits_in(frames)) for comm, tid, frames in log.tasks}
    for tid, seconds in log.hung.items():
        parsed.measure(latest[tid].named(), "blocked_ns", seconds * 1e9)
    since = " for longer than the kernel's limit" if log.hung else ""
    _states.emit(parsed, list(latest.values()), since)
    span = max(log.stamps) - min(log.stamps) if log.stamps else 0.0
    if not log.events and not log.tasks and span >= SHORTEST_S:
        parsed.measure("kernel log", "without_errors_ns", span * 1e9)
        parsed.note(f"no I/O errors and no hung tasks in {span:,.0f} s of the kernel's log")
    return parsed


def _waits_in(frames: Sequence[str]) -> tuple[str, ...]:
    """The stack without the scheduler's own frames."""
    own = {"__schedule", "schedule", "schedule_timeout", "io_schedule", "io_schedule_timeout", "context_switch",
           "schedule_preempt_disabled", "__switch_to"}  # fmt: skip
    return tuple(frame for frame in frames if frame not in own)
