"""The workspace's own workload program."""

import subprocess
from pathlib import Path

from iowhy.sources import live


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
