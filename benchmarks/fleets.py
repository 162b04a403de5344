"""How a fleet's reports grow: `python -m benchmarks fleets=1000`, over N made recordings and over ten times as many; `fleet-causes=1000` asks
for `causes` alone, of DuckDB and of Spark.

Of each report: time, CPU time and memory, of the command with all that it starts, and how these grow with ten times the recordings.

A tenth of the smaller fleet's recordings, 50 at most, are made from a seed each; the others have their files (links) with a manifest of their own: each is
opened and read by itself, the disk has room, and the page cache holds them, so that what is measured is CPU. To judge takes some ten times what all else does, so
that only those of a seed are judged, which is measured too; the others' verdicts, which are the same, are put where verdicts are kept, and packs carry them.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from benchmarks.generated import generate
from benchmarks.session_use import Use, used_by
from iowhy.fleet import verdicts
from iowhy.fleet.members import LeftOut, opened
from iowhy.fleet.places import places
from iowhy.recordings import Recording
from iowhy.recordings.days import day_folder
from iowhy.recordings.manifest import Clock

CALLS = 200
#: A seed is generated and judged, which takes a second of CPU time and more.
MOST_SEEDS = 50
#: Of each host, and of each host and day.
DAYS, RUNS = 2, 10
#: What `causes` measures.
ALONE = ("report causes", "report causes, Spark local[2]")
_HOUR_NS, _FIRST_NS = 3_600_000_000_000, 1_761_955_200_000_000_000  # 2025-11-01T00:00Z


@dataclass(frozen=True)
class Asked:
    """A command over a fleet: `folder` is `loose` or `packs`."""

    name: str
    words: tuple[str, ...]
    folder: str


def causes(recordings: int = 20) -> str:
    """Of `causes` alone, by each engine."""
    return table(recordings, [one for one in _asked() if one.name in ALONE])


def table(recordings: int = 20, asked: Sequence[Asked] | None = None) -> str:
    """Measures, and gives the table."""
    asked = list(_asked()) if asked is None else asked
    lines = [
        "| `iowhy fleet` | recordings | time | CPU | memory | with 10 times as many: time, CPU, memory |",
        "|---|--:|--:|--:|--:|---|",
    ]
    found: dict[str, list[Use]] = {}
    with tempfile.TemporaryDirectory(prefix="iowhy-fleets-") as folder:
        seeds = list(_seeds(Path(folder) / "seeds", min(max(recordings // 10, 2), MOST_SEEDS)))
        for name, use in _judged(Path(folder), seeds):
            lines.append(f"| {name} | {len(seeds):,} | {_shown(use)} | |")
        for count in (recordings, 10 * recordings):
            for name, use in _measured(Path(folder) / str(count), seeds, count, asked):
                before = found.setdefault(name, [])
                before.append(use)
                lines.append(f"| {name} | {count:,} | {_shown(use)} | {_growth(before)} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def _asked() -> Iterator[Asked]:
    yield Asked("report files", ("report", "files"), "loose")
    yield Asked("report outliers", ("report", "outliers"), "loose")
    yield Asked("report causes", ("report", "causes"), "loose")
    yield Asked("pack", ("pack",), "loose")
    yield Asked("report causes of packs", ("report", "causes"), "packs")
    if shutil.which("java") and importlib.util.find_spec("pyspark"):
        spark = ("--spark", "local[2]")
        yield Asked("report causes, Spark local[2]", ("report", "causes", *spark), "loose")
        yield Asked("report causes of packs, Spark local[2]", ("report", "causes", *spark), "packs")


def _judged(folder: Path, seeds: list[Recording]) -> Iterator[tuple[str, Use]]:
    """What it takes to judge, the verdicts of which stay in `folder`."""
    for name in ("report causes, judged", "report causes, again"):
        yield name, _run(folder, ["report", "causes", str(seeds[0].path.parent), "-f", "csv"])


def _run(folder: Path, words: list[str]) -> Use:
    cache = folder / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return used_by([sys.executable, "-m", "iowhy.cli.main", "fleet", *words], environment)


def _keep_verdicts(folder: Path, seeds: list[Recording]) -> None:
    """Those of the seeds for what has their files."""
    os.environ["XDG_CACHE_HOME"] = str(folder.parent / "cache")
    of = dict(verdicts.verdicts([seed.path for seed in seeds], LeftOut()))
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    (folder / "cache").mkdir(mode=0o700)
    store = verdicts.opened_store()
    assert store is not None
    store.execute("BEGIN")
    for together in opened(places([str(folder / "loose")]), LeftOut()):
        for one in together:
            seed = int(one.path.name.rpartition("-")[2].removesuffix(".iowhy"))
            verdicts.keep(store, one.fingerprint(verdicts.VERDICT_DEFINITIONS), of[seed])
    store.execute("COMMIT")
    store.close()


def _measured(
    folder: Path, seeds: list[Recording], count: int, all_asked: Sequence[Asked]
) -> Iterator[tuple[str, Use]]:
    for number in range(count):
        _place(folder / "loose", seeds, number)
    _keep_verdicts(folder, seeds)
    for asked in all_asked:
        where = [str(folder / asked.folder)]
        to = ["-o", str(folder / "packs")] if asked.words == ("pack",) else ["-f", "csv"]
        yield asked.name, _run(folder, [*asked.words, *where, *to])
    shutil.rmtree(folder)


def _seeds(folder: Path, count: int) -> Iterator[Recording]:
    for number in range(count):
        path = folder / f"{number:06}.iowhy"
        yield generate(path, CALLS, seed=number, threads=2, files=4)


def _place(folder: Path, seeds: list[Recording], number: int) -> None:
    """A recording as an agent keeps it; its name ends with the number of its seed."""
    seed = seeds[number % len(seeds)]
    host, rest = divmod(number, DAYS * RUNS)
    day, run = divmod(rest, RUNS)
    manifest = seed.manifest
    began = _FIRST_NS + (24 * day + run) * _HOUR_NS
    manifest = replace(
        manifest,
        host=replace(manifest.host, name=f"web{host:05}", kernel=f"6.12.{host % 3}"),
        clock=Clock(manifest.clock.monotonic_ns, began),
    )
    to = (
        folder
        / day_folder(f"2025-11-{day + 1:02}", f"web{host:05}")
        / f"run-{run}-{number % len(seeds)}.iowhy"
    )
    for file in seed.path.rglob("*.parquet"):
        at = to / file.relative_to(seed.path)
        at.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, at)
    (to / "manifest.json").write_text(manifest.as_json())


def _shown(use: Use) -> str:
    return f"{use.elapsed_s:.1f} s | {use.cpu_s:.1f} s | {use.memory_bytes >> 20:,} MiB"


def _growth(uses: list[Use]) -> str:
    if len(uses) < 2:
        return ""
    few, many = uses
    pairs = (
        (many.elapsed_s, few.elapsed_s),
        (many.cpu_s, few.cpu_s),
        (many.memory_bytes, few.memory_bytes),
    )
    return ", ".join(f"× {after / max(before, 0.01):.1f}" for after, before in pairs)
