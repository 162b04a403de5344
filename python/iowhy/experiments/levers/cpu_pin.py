"""Fewer CPUs: the command bound to one CPU, alone or sharing it with a busy loop. Needs no rights."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from iowhy.errors import Problem
from iowhy.experiments.in_child import bind_cpus
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting
from iowhy.undo import MARK_VARIABLE

_SPIN = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit()
print("ready", flush=True)
while True:
    pass
"""


class CpuPin(Lever, frozen=True):
    """Levels: ``one`` CPU for a command that uses several, and ``shared``: half of one CPU.

    Only the CPU that is shared is contended for, by one loop at the command's own priority.
    """

    name: str = "cpu-pin"
    resource: str = "CPU"
    bound: str = "CPU"
    needs: str = "nothing"
    cost: int = 2

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:
        """``one`` is left out by default if the command uses no more than one anyway."""
        known = {
            "one": Level(
                "one CPU", "one", min(1.0, 1 / setting.profile.cpus), "leaving it one CPU"
            ),
            "shared": Level(
                "half a CPU", "shared", 0.5 / setting.profile.cpus, "leaving it half of one CPU"
            ),
        }
        for text in asked:
            if text not in known:
                raise Problem("level-unknown", name=self.name, text=text, known=", ".join(known))
        several = setting.profile.cpus > 1.25 and len(os.sched_getaffinity(0)) > 1
        chosen = asked or (("one", "shared") if several else ("shared",))
        return tuple(known[key] for key in chosen)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """Binds to the last allowed CPU: the first often serves interrupts."""
        cpu = max(os.sched_getaffinity(0))
        effect = Effect(in_child=(bind_cpus([cpu]),))
        if level.key == "one":
            yield effect
            return
        action, mark = setting.undo.kill_marked()
        loop = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SPIN, str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, MARK_VARIABLE: mark},
            start_new_session=True,
        )
        try:
            os.sched_setaffinity(loop.pid, [cpu])
            if loop.stdout is None or loop.stdout.readline() != b"ready\n":
                raise Problem("cpu-pin-did-not-start")
            yield effect
        finally:
            loop.kill()
            loop.communicate()
            setting.undo.now(action)


LEVER = CpuPin()
