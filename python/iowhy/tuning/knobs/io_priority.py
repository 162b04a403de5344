"""The command's I/O priority: before others on the device."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import uname

from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, Kept, Knob, Value, queue_file, read

_CALL = {"x86_64": 251, "aarch64": 30}
_BEST_EFFORT, _SHIFT, _PROCESS = 2, 13, 1  # include/uapi/linux/ioprio.h
_libc = ctypes.CDLL(None, use_errno=True)


class IoPriority(Knob, frozen=True):
    """The highest of those that leave others something."""

    name: str = "ionice"
    bounded_by: str = "alone"
    about_others: bool = True

    def refusal(self, setting: Setting) -> str | None:
        """Needs a scheduler that heeds it."""
        path = queue_file(setting, "scheduler")
        if uname().machine not in _CALL:
            return "the number of ioprio_set is not known here"
        # mq-deadline has classes alone: within best-effort all levels are one to it.
        if path is None or read(path) != "bfq":
            return "the device's scheduler heeds no priority within a class (bfq does)"
        return None

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:  # noqa: ARG002
        """One."""
        return [Value("4", "0", clues.next_to_others if clues.known else 0.1)]

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """In the command's process."""
        value = _BEST_EFFORT << _SHIFT | int(level.key)

        def hook() -> None:
            _libc.syscall(_CALL[uname().machine], _PROCESS, 0, value)

        yield Effect(in_child=(hook,))

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A drop-in of systemd.unit(5)."""
        return unit_drop_in(
            "ionice",
            f"IOSchedulingClass=best-effort\nIOSchedulingPriority={then}",
            f"ionice -c 2 -n {then}",
        )


def unit_drop_in(name: str, lines: str, typed: str) -> Kept:
    """For the unit that runs the command; `typed` is what does the same before a command."""
    place = f"/etc/systemd/system/UNIT.service.d/iowhy-{name}.conf"
    return Kept(
        place,
        f"[Service]\n{lines}\n",
        f"systemctl daemon-reload && systemctl restart UNIT; or begin the command with: {typed}",
        f"rm {place} && systemctl daemon-reload && systemctl restart UNIT",
    )


KNOB = IoPriority()
