"""What the checks look at: files of /proc and /sys, the environment, and what the recorder itself could load."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.recordings.manifest import Sensor

#: Bits of capability sets (include/uapi/linux/capability.h).
CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_SYS_RESOURCE": 24, "CAP_PERFMON": 38, "CAP_BPF": 39}

_PROBE_SECONDS = 60


class Machine(Struct, frozen=True, dict=True):
    """A machine below `root`, which tests replace by their own tree.

    `sensors` are what the recorder can run here, by its own probe; empty with `broken`, why it could not be asked. `on`: the name
    by which ssh reaches it, if it is not the one that we run on.
    """

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    user_id: int = field(default_factory=os.geteuid)
    architecture: str = field(default_factory=platform.machine)
    sensors: tuple[Sensor, ...] = ()
    broken: str | None = None
    on: str | None = None
    #: Database servers that run, each with why its statements cannot be read, None: they can.
    servers: tuple[tuple[str, str | None], ...] = ()
    #: What the kernel lacks for the box in which recordings are read (iowhy/recordings/box.py).
    unboxed: tuple[str, ...] = ()

    def text(self, path: str) -> str | None:
        """A file's content; None if it is not there or may not be read."""
        try:
            return (self.root / path.lstrip("/")).read_text(errors="replace")
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""
        return (self.root / path.lstrip("/")).exists()

    @cached_property
    def release(self) -> str:
        """The kernel's release as it names itself, empty where it does not."""
        return (self.text("/proc/sys/kernel/osrelease") or "").strip()

    @cached_property
    def kernel(self) -> tuple[int, int]:
        """Its version, (0, 0) where the release does not begin with one."""
        found = re.match(r"(\d+)\.(\d+)", self.release)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @cached_property
    def capabilities(self) -> frozenset[str] | None:
        """Which of CAPABILITIES this process has (CapEff, proc_pid_status(5)); None if not reported."""
        bits = self.status("CapEff")
        if bits is None:
            return None
        try:
            number = int(bits, 16)
        except ValueError:
            return None
        return frozenset(name for name, bit in CAPABILITIES.items() if number >> bit & 1)

    @cached_property
    def in_user_namespace(self) -> bool:
        """Whether root here is somebody else on the machine: ids are mapped (user_namespaces(7))."""
        words = (self.text("/proc/self/uid_map") or "").split()
        return bool(words) and words != ["0", "0", "4294967295"]

    def status(self, name: str) -> str | None:
        """A line of /proc/self/status."""
        for line in (self.text("/proc/self/status") or "").splitlines():
            if line.startswith(f"{name}:"):
                return line.partition(":")[2].strip()
        return None

    @property
    def programs_run(self) -> bool:
        """Whether the kernel took eBPF programs of the recorder: without them there are no system calls."""
        return any(sensor.ran and sensor.name == "syscalls" for sensor in self.sensors)

    @property
    def lost(self) -> tuple[Sensor, ...]:
        """Sensors that do not run here."""
        return tuple(sensor for sensor in self.sensors if not sensor.ran)


def this_machine(recorder: Path) -> Machine:
    """The machine that we run on; the recorder loads its programs to see what the kernel takes of them."""
    try:
        done = subprocess.run(
            [str(recorder), "probe"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
        return Machine(sensors=probed(done.stdout))
    except subprocess.TimeoutExpired:
        return Machine(broken=f"it did not answer within {_PROBE_SECONDS} s")
    except OSError as error:
        return Machine(broken=error.strerror or str(error))
    except Problem:
        said = done.stderr.strip().splitlines()
        return Machine(broken=said[-1] if said else f"it ended with status {done.returncode}")


def probed(text: str) -> tuple[Sensor, ...]:
    """The sensors of `iowhy-record probe`. Raises Problem for what is not one of its answers."""
    try:
        found = json.loads(text)["sensors"]
        return tuple(Sensor(one["name"], one["ran"], one["why"]) for one in found)
    except (ValueError, KeyError, TypeError):
        raise Problem("recorder-answer-unreadable") from None
