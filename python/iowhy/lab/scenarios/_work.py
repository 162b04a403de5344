"""The workspace's own workload program."""

import subprocess
from pathlib import Path

from iowhy.lab.scenario import FINE, Plan
from iowhy.lab.stage import Stage
from iowhy.sources import live

#: The remedies of a device that is slow.
MOVE = ("device-slow.other-device", "device-slow.other-device-any")
#: What is right of a reader on flash that is well.
FLASH_IS_FINE = ("queue-shallow", *FINE, "device-saturated", "small-requests")


def work(program: str, *options: object, **named: object) -> tuple[str, ...]:
    """The command line of `iowhy-work PROGRAM`; `sync_bytes=4096` becomes `--sync-bytes 4096`."""
    argv = [str(live.program("iowhy-work")), program]
    for name, value in named.items():
        argv += ["--" + name.replace("_", "-"), str(value)]
    return (*argv, *map(str, options))


def make_file(path: Path, size_bytes: int, seed: int) -> Path:
    """A file of bytes that do not compress, laid out in order."""
    subprocess.run(
        work("seqwrite", "--fsync", file=path, bytes=size_bytes, seed=seed),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return path


def read_directly(stage: Stage, *changes: str) -> Plan:
    """One reader in order, past the page cache, of a disk with these figures and faults."""
    filesystem = stage.filesystem(stage.disk(512, changes=changes))
    path = make_file(filesystem.path / "data", stage.choice.size(128), stage.choice.seed)
    return Plan(("dd", f"if={path}", "of=/dev/null", "bs=64K", "iflag=direct", "status=none"))
