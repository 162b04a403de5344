"""What the recorder loses, writes and costs per event, and how soon the verdict is there."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.workloads import compile_, fio, preads, sqlite
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program


def losses() -> str:
    """Events kept and lost, bytes per event, at the highest rates this machine makes."""
    lines = ["| command | events | per second | lost | bytes per event |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "cached").write_bytes(bytes(1 << 20))
        two = "{0} & {0} & wait".format(" ".join(preads(folder)))
        commands = {
            "sqlite": sqlite(folder),
            "compile": compile_(folder),
            "fio, direct reads": fio(folder),
            "preads, two at once": ["sh", "-c", two],
        }
        for number, (title, command) in enumerate(commands.items()):
            out = folder / f"{number}.iowhy"
            _record(command, out)
            manifest = open_recording(out).manifest
            events = sum(kept.kept for kept in manifest.tables.values())
            size = sum(file.stat().st_size for file in out.rglob("*.parquet"))
            elapsed = (manifest.elapsed_ns or 0) / 1e9
            lines.append(
                f"| {title} | {events:,} | {events / elapsed:,.0f} | {manifest.lost():,} | {size / events:.1f} |"
            )
    return "\n".join(lines)


def verdict_time() -> str:
    """From the end of the command to the printed verdict, for a recording of a million events."""
    with tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "cached").write_bytes(bytes(1 << 20))
        seconds = []
        for number in range(5):
            out = folder / f"{number}.iowhy"
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "iowhy.cli.main",
                    "run",
                    "-o",
                    str(out),
                    "--",
                    *preads(folder),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            ended = time.monotonic_ns()
            command_end = open_recording(out).manifest.command.end_ns
            assert command_end is not None
            seconds.append((ended - command_end) / 1e9)
        seconds.sort()
        return (
            f"From the end of the command to the end of the verdict, 1,000,000 calls: median "
            f"{seconds[2]:.2f} s ({seconds[0]:.2f} to {seconds[-1]:.2f}, 5 runs)."
        )


@contextmanager
def programs_counted() -> Iterator[None]:
    """The kernel counts what programs cost, which makes each dearer."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


def per_program() -> str:
    """Nanoseconds per event of each program (kernel.bpf_stats_enabled), over the workloads above."""
    totals: dict[str, tuple[int, int]] = {}
    with (
        programs_counted(),
        tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as name,
    ):
        folder = Path(name)
        (folder / "cached").write_bytes(bytes(1 << 20))
        for number, command in enumerate(
            (sqlite(folder), compile_(folder), fio(folder), preads(folder))
        ):
            stats = folder / "programs.json"
            _record(command, folder / f"{number}.iowhy", "--program-stats", str(stats))
            for row in json.loads(stats.read_text()):
                runs, spent = totals.get(row["name"], (0, 0))
                totals[row["name"]] = (runs + row["runs"], spent + row["ns"])
    lines = ["| program | events | ns per event |", "|---|---|---|"]
    for program_, (runs, spent) in sorted(
        totals.items(), key=lambda item: -item[1][1] / max(1, item[1][0])
    ):
        if runs:
            lines.append(f"| {program_} | {runs:,} | {spent / runs:,.0f} |")
    return "\n".join(lines)


def _record(command: object, out: Path, *options: str) -> None:
    assert isinstance(command, (list, tuple))
    subprocess.run(
        [program(RECORDER), "run", "-o", out, *options, "--", *command],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=600,
    )
