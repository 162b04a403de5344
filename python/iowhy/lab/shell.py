"""Running the system's own tools."""

import shutil
import subprocess
from collections.abc import Sequence

from iowhy.errors import Problem

PACKAGES = {
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "losetup": "mount",
    "mount": "mount",
    "sqlite3": "sqlite3",
    "gcc": "gcc",
    "make": "make",
    "fio": "fio",
    "dd": "coreutils",
    "zramctl": "util-linux",
}


def need(*tools: str) -> None:
    """Raises Problem that names the tools that are not installed and the packages that have them."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        packages = sorted({PACKAGES.get(tool, tool) for tool in missing})
        raise Problem(
            f"the lab needs {', '.join(missing)} here; install {' '.join(packages)} (Debian's names)"
        )


def run(argv: Sequence[str]) -> str:
    """Runs a tool and returns what it printed. Raises Problem with its own message."""
    need(argv[0])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Problem(f"{' '.join(argv)}: {said[-1] if said else f'status {done.returncode}'}")
    return done.stdout
