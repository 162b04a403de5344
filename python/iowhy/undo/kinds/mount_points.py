"""Where filesystems are mounted."""

import re
from pathlib import Path


def mount_points() -> list[str]:
    """Mount points of this mount namespace, oldest first (proc_pid_mountinfo(5))."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    return [
        re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), line.split(" ")[4]) for line in lines
    ]
