"""The commands that the recorder's cost is measured on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from iowhy.sources.live import program


@dataclass(frozen=True)
class Workload:
    """A command made in a folder, and what is cleared away before each run of it.

    `pairs` is how many pairs of runs it takes: more where runs on the same disk differ much. `device` is the
    emulated disk of the lab that the folder lies on, else it lies on the machine's own.
    """

    name: str
    make: Callable[[Path], Sequence[str]]
    prepare: Callable[[Path], None]
    scale_for_slow: int  # how many times less work the tracers get that stop at every call
    pairs: int = 9
    device: str | None = None


def sqlite(folder: Path, rows: int = 20_000) -> Sequence[str]:
    """One-row transactions, WAL, synchronous=FULL."""
    script = folder / f"load-{rows}.sql"
    inserts = "".join(f"INSERT INTO t VALUES({i}, {i * 7});\n" for i in range(rows))
    script.write_text(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(a INTEGER PRIMARY KEY, b);\n"
        + inserts
    )
    return ["sh", "-c", f"sqlite3 '{folder}/bench.db' < '{script}' > /dev/null"]


def sqlite_on_flash(folder: Path, rows: int = 2_000) -> Sequence[str]:
    """The same, fewer: each waits a millisecond for the flush."""
    return sqlite(folder, rows)


def compile_(folder: Path, files: int = 40) -> Sequence[str]:
    """gcc -O2 over generated files, two jobs at a time."""
    source = "\n".join(
        f"int f{n}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += (i ^ {n}) * x; return s; }}"
        for n in range(150)
    )
    for number in range(files):
        (folder / f"{number}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n" + source)
    (folder / "Makefile").write_text(
        "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n"
    )
    return ["make", "-s", "-B", "-j2", "-C", str(folder)]


def fio(folder: Path, reads: int = 60_000) -> Sequence[str]:
    """Random 4 KiB direct reads, four at a time."""
    return [
        "fio", "--name=bench", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio",
        "--iodepth=4", "--size=256m", f"--io_size={reads * 4}k", f"--directory={folder}",
        "--output-format=terse", "--output=/dev/null", "--randseed=7",
    ]  # fmt: skip


def preads(folder: Path, calls: int = 1_000_000) -> Sequence[str]:
    """The worst case: a loop of cached 4 KiB preads."""
    of = ("--file", f"{folder}/cached", "--block", "4K", "--writes", "256", "--fsyncs", "0")
    return [str(program("iowhy-work")), "calls", *of, "--reads", str(calls)]


def _nothing(folder: Path) -> None:
    del folder


def _no_database(folder: Path) -> None:
    for file in folder.glob("bench.db*"):
        file.unlink()


WORKLOADS = (
    Workload("sqlite, one-row transactions", sqlite, _no_database, 4, pairs=25),
    Workload("the same on flash, 1 ms to flush", sqlite_on_flash, _no_database, 4, device="ssd"),
    Workload("compile, gcc -O2 with make -j2", compile_, _nothing, 4),
    Workload("fio, random 4 KiB direct reads", fio, _nothing, 10),
    Workload("1,000,000 cached 4 KiB preads", preads, _nothing, 20),
)
