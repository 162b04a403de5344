"""What a reader of the documentation has, for commands that are typed as they stand: programs, files, processes, a container, a pod, a host.

What pages call CMD, ./load, 4711, web or db1 is the reader's own; `Machine.typed` puts in its place what stands here.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hosts import HOST, ssh_to_here
from machine import python
from test_containers import own_group
from tests.docs.readers_files import place

#: What ./load, and each of its like, makes durable, one call of sync(1) a time: more than pages allow it.
SYNCS = 25
_LOAD = f"#!/bin/sh\nfor i in $(seq {SYNCS}); do echo $i >> items; sync items; done\n"
_DATA = "data"
#: Few calls of sync, and some memory: what an experiment takes memory from holds more than its heap.
_MINE = f'#!/bin/sh\nfor i in 1 2 3; do echo $i >> mine-$i; sync mine-$i; done\ncat "$(dirname "$0")/{_DATA}" > /dev/null\n'
_DATA_BYTES = 32 << 20
_ROWS = [f"INSERT INTO items VALUES ({number});" for number in range(SYNCS)]
_TABLE = "CREATE TABLE IF NOT EXISTS items (number);"
FILES = {
    "mine": _MINE,
    "load": _LOAD,
    "transactions": _LOAD,
    "service": _MINE,
    "load.sql": "\n".join([_TABLE, *_ROWS]),
    "one.sql": "\n".join([_TABLE, "BEGIN;", *_ROWS, "COMMIT;"]),
    "Makefile": "all: a b\na b:\n\tcp Makefile $@\nclean:\n\trm -f a b\n",
    # Three equal runs: what they had holds.
    "io-baseline.json": json.dumps(
        {
            "version": 1,
            "commands": {
                name: {"sync_calls": {"values": [SYNCS] * 3}}
                for name in ("./load", "./load items.db")
            },
        }
    ),
}
#: Works as long as it is watched, in one process: what it started could be in its group a moment longer.
_WORK = """
import os, time
lines = os.open("lines", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
while True:
    os.write(lines, b"line")
    os.fsync(lines)
    time.sleep(0.05)
"""
_CONTAINERD = Path("/run/containerd/io.containerd.runtime.v2.task/iowhy-typed")


@dataclass(frozen=True)
class Machine:
    """Where commands are typed, with which environment, and what is put in the place of the reader's own words."""

    folder: Path
    env: dict[str, str]
    words: dict[str, str]

    def typed(self, line: str) -> str:
        """The line with what is here in the place of what only the reader has."""
        for pattern, here in self.words.items():
            line = re.sub(pattern, here, line)
        return line

    def fresh(self, to: Path, names: list[str]) -> Path:
        """A folder of its own with all files, and the recordings that the words of a call name."""
        to.mkdir()
        for file in self.folder.iterdir():
            if file.name == _DATA:
                (to / _DATA).hardlink_to(file)
            else:
                shutil.copy(file, to)
        for before, word in pairwise(names):
            if before not in ("-o", "--keep"):
                place(to, word, iter(("one-row",)))
        return to


@contextmanager
def readers_machine(folder: Path) -> Iterator[Machine]:
    """Makes it all, and takes it away again."""
    name = f"iowhy-typed-{os.getpid()}"
    files, tools = folder / "files", folder / "bin"
    files.mkdir()
    for file, text in FILES.items():
        (files / file).write_text(text)
        (files / file).chmod(0o755)
    (files / _DATA).write_bytes(os.urandom(_DATA_BYTES))
    tools.mkdir()
    shims = {
        "iowhy": f'exec {sys.executable} -m iowhy "$@"',
        # The tests are root already.
        "sudo": 'exec "$@"',
        # What is the reader's behind a pipe.
        "jq": "cat",
    }
    for tool, does in shims.items():
        (tools / tool).write_text(f"#!/bin/sh\n{does}\n")
        (tools / tool).chmod(0o755)
    with ExitStack() as stack:
        (folder / "ssh").mkdir()
        ssh = stack.enter_context(ssh_to_here(folder / "ssh"))
        (folder / "there").mkdir()
        pids = [stack.enter_context(_working(folder / "there")) for _ in range(2)]
        service = stack.enter_context(_group(f"{name}.service", pids[0]))
        stack.enter_context(_pod("prod", "db-0", pids[1]))
        env = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "IOWHY_SSH": ssh,
            "IOWHY_STATE": str(folder / "state"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "TMPDIR": str(folder / "there"),
        }
        words = {
            r"(?<=--on )\S+": HOST,
            r"(?<=--container )\S+": name,
            r"/sys/fs/cgroup/system.slice/nginx.service": str(service),
            r"\b(4711|PID)\b": str(pids[0]),
            r"\b4712\b": str(pids[1]),
            r"(?<=--duration )\d+s": "1s",
            r"(?<=cd )/srv": str(files),
            # In whatever directory it is typed, of another host too.
            r"\bCMD\b": str(files / "mine"),
            r"\bLEVER\b": "cpu-quota",
        }
        yield Machine(files, env, words)


@contextmanager
def _working(folder: Path) -> Iterator[int]:
    with subprocess.Popen(python(_WORK), cwd=folder) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@contextmanager
def _group(name: str, pid: int) -> Iterator[Path]:
    """A control group with a process in it, from which it is taken at the end."""
    group = own_group(name)
    try:
        (group / "cgroup.procs").write_text(str(pid))
        yield group
    finally:
        for left in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):  # it has ended meanwhile
                (group.parent / "cgroup.procs").write_text(left)
        group.rmdir()


@contextmanager
def _pod(namespace: str, name: str, pid: int) -> Iterator[None]:
    """A container of a pod as containerd leaves it: its control group, and its configuration on disk."""
    number = f"{os.getpid():064x}"
    at = _CONTAINERD / number
    at.mkdir(parents=True)
    notes = {
        "io.kubernetes.cri.sandbox-name": name,
        "io.kubernetes.cri.sandbox-namespace": namespace,
        "io.kubernetes.cri.container-name": "db",
    }
    (at / "config.json").write_text(json.dumps({"annotations": notes}))
    try:
        with _group(f"cri-containerd-{number}.scope", pid):
            yield
    finally:
        shutil.rmtree(_CONTAINERD)
        with suppress(OSError):  # a containerd of the machine's own
            _CONTAINERD.parent.rmdir()
            _CONTAINERD.parent.parent.rmdir()
