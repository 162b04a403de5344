"""How a fleet's report grows: `python -m benchmarks.fleets [RECORDINGS] [REPORT…]` (50; files, outliers and causes).

Over N made recordings and over 10 N: time, and the most memory of the process with its children, each in a process of its
own. `causes` twice: judged, and again with the verdicts that are kept. `--spark` measures Spark local[2] beside DuckDB.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.generated import generate

CALLS = 200


def main(words: list[str]) -> None:
    """Make, run and print."""
    spark = "--spark" in words
    words = [word for word in words if word != "--spark"]
    few = int(words[0]) if words else 50
    names = words[1:] or ["files", "outliers", "causes", "causes"]
    with tempfile.TemporaryDirectory() as folder:
        for count in (few, 10 * few):
            for number in range(count):
                place = Path(folder) / str(count) / f"{number:06}.iowhy"
                generate(place, CALLS, seed=number, threads=2, files=4)
            for name in names:
                for engine in ([], ["--spark", "local[2]"])[: 2 if spark else 1]:
                    seconds, mib = measured(Path(folder), count, name, engine)
                    print(
                        f"{name:10} {' '.join(engine) or 'duckdb':18} {count:6,} recordings {seconds:8.1f} s {mib:6,.0f} MiB",
                        flush=True,
                    )


def measured(folder: Path, count: int, name: str, engine: list[str]) -> tuple[float, float]:
    """Seconds, and MiB of the largest process."""
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    cache.chmod(0o700)
    command = [
        sys.executable,
        "-m",
        "iowhy.cli.main",
        "fleet",
        "report",
        name,
        str(folder / str(count)),
    ]
    begin = time.perf_counter()
    pid = subprocess.Popen(
        [*command, *engine, "-f", "csv"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    ).pid
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{name} of {count} recordings ended with {status}")
    return time.perf_counter() - begin, _largest(used)


def _largest(used: resource.struct_rusage) -> float:
    return used.ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
