"""Time every report on a generated recording: `python -m benchmarks.reports [CALLS]` (1,000,000).

Prints, per report, the median of three runs (opening the recording included) and its rows.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.generated import generate
from iowhy.reports import reports, run


def main(calls: int) -> None:
    """Generate, run and print."""
    with tempfile.TemporaryDirectory() as folder:
        rec = generate(Path(folder) / "generated.iowhy", calls)
        with rec.connected() as connection:
            sizes = {
                name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in ("syscalls", "waits", "block_requests", "page_cache", "thread_time")
            }
        print(", ".join(f"{name} {count:,}" for name, count in sizes.items()))
        for name in reports():
            times = []
            for _ in range(3):
                begin = time.perf_counter()
                rows = run(rec, name).num_rows
                times.append(time.perf_counter() - begin)
            print(f"{name:22} {statistics.median(times):6.2f} s {rows:9,} rows")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
