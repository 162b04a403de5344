"""What a recording that was broken off may have left on the machine: processes, mounts, devices, groups, BPF links, files."""

import json
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

#: In the environment of all that one kill starts.
MARK = "IOWHY_TORTURE"


def marked(mark: str) -> dict[int, int]:
    """Processes with this mark that have not ended, and the parent of each."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    if fields[0] != "Z":
                        found[int(entry.name)] = int(fields[1])
    return found


def is_recorder(pid: int) -> bool:
    """Whether a process runs the recorder's program; its command does too, until it becomes its own."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/exe").readlink().name.startswith("iowhy-record")
    return False


def none_left(mark: str, patience_s: float) -> list[int]:
    """Processes with this mark that are there when all should have ended."""
    end = time.monotonic() + patience_s
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    return sorted(left)


def on_machine() -> Counter[str]:
    """Mounts, loop devices and control groups of ours, and how many BPF links and pinned objects of ours there are.

    To be compared with what was there before, while nobody else records.
    """
    found: Counter[str] = Counter()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if "iowhy" in line:
            found[f"mount {line.split()[4]}"] += 1
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            found[f"loop device on {backing.read_text().strip()}"] += 1
    for group in Path("/sys/fs/cgroup").rglob("iowhy-*"):
        found[f"control group {group}"] += 1
    # Others' come and go; ours are held by a recorder, or pinned under a name of ours.
    held = sum("iowhy" in json.dumps(link) for link in _bpftool("link"))
    found["BPF links"] = held + len(list(Path("/sys/fs/bpf").rglob("*iowhy*")))
    return found


def _bpftool(kind: str) -> list[object]:
    done = subprocess.run(
        ["bpftool", kind, "show", "-j"], capture_output=True, text=True, check=False
    )
    shown: list[object] = json.loads(done.stdout or "[]")
    return shown
