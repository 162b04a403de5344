"""Running the system's own tools."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

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
    "setpriv": "util-linux",
    "cksum": "coreutils",
    "cat": "coreutils",
    "rm": "coreutils",
    "sync": "coreutils",
    "initdb": "postgresql",
    "postgres": "postgresql",
    "pg_ctl": "postgresql",
    "pgbench": "postgresql",
    "node": "nodejs",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "redis-benchmark": "redis-tools",
    "redis-cli": "redis-tools",
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "my_print_defaults": "mariadb-client-core",
    "nginx": "nginx-light",
    "db_bench": "rocksdb-tools",
    "mdb_load": "lmdb-utils",
    "mdb_dump": "lmdb-utils",
    "mdb_copy": "lmdb-utils",
    "xz": "xz-utils",
}
#: Where Debian keeps programs that are not on everybody's path.
_ELSEWHERE = ("usr/sbin", "sbin", "usr/lib/postgresql/*/bin")


def found(tool: str) -> str | None:
    """The path of a tool; None when it is not installed. Of several versions of a server, the last."""
    at_hand = shutil.which(tool)
    if at_hand is not None:
        return at_hand
    folders = [one for place in _ELSEWHERE for one in sorted(Path("/").glob(place), reverse=True)]
    return shutil.which(tool, path=":".join(map(str, folders)))


def missing(tools: Sequence[str]) -> str | None:
    """Which tools are not installed and what installs them; None when none is missing."""
    lacking, packages = _lacking(tools)
    if not lacking:
        return None
    verb = "is" if len(lacking) == 1 else "are"
    return f"{', '.join(lacking)} {verb} not installed (apt-get install {' '.join(packages)})"


def _lacking(tools: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tools that are not installed, and the packages that have them."""
    lacking = [tool for tool in tools if found(tool) is None]
    return lacking, sorted({PACKAGES.get(tool, tool) for tool in lacking})


def need(*tools: str) -> None:
    """Raises Problem that names the tools that are not installed and the packages that have them."""
    lacking, packages = _lacking(tools)
    if lacking:
        raise Problem(
            "lab-programs-missing", lacking=", ".join(lacking), packages=" ".join(packages)
        )


def run(argv: Sequence[str]) -> str:
    """Runs a tool and returns what it printed. Raises Problem with its own message."""
    need(argv[0])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Problem(
            "lab-command-failed",
            argv=" ".join(argv),
            said=said[-1] if said else f"status {done.returncode}",
        )
    return done.stdout
