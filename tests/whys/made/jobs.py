"""Jobs of many processes, as records of Darshan's modules."""

from pathlib import Path

import numpy as np

from iowhy.recordings import Recording
from iowhy.sources.format import Parsed
from iowhy.sources.formats import _darshan_job, darshan

from .base import Row, S
from .pasted import pasted

#: Names of files, by the number that stands for each.
PATHS = {1: "/scratch/run/out.h5", 2: "/scratch/run/in.nc"}


def records(rows: list[Row]) -> _darshan_job.Layer:
    """Records with `id` (1), `rank` (-1: all) and any metric that the reader knows."""
    columns = {name for row in rows for name in row} - {"id", "rank"}
    return _darshan_job.Layer(
        np.array([row.get("id", 1) for row in rows], dtype=np.uint64),
        np.array([row.get("rank", -1) for row in rows], dtype=np.int64),
        {name: np.array([row.get(name, 0) for row in rows], dtype=np.float64) for name in columns},
    )


def job(
    folder: Path,
    modules: dict[str, list[Row]],
    *,
    run_s: float = 100.0,
    processes: int = 64,
    servers: dict[int, list[int]] | None = None,
) -> Recording:
    """What `iowhy diagnose` makes of the log of such a job."""
    parsed = Parsed("darshan")
    layers = {name: records(rows) for name, rows in modules.items()}
    for name, layer in layers.items():
        darshan.measure_module(parsed, name, layer, PATHS)
    parsed.measure("job", "processes", processes, ts_ns=0)
    parsed.measure("job", "run_s", run_s, ts_ns=round(run_s * S))
    _darshan_job.emit(parsed, layers, run_s, servers or {}, PATHS)
    tables = {name: rows for name, rows in parsed.tables.items() if isinstance(rows, list)}
    return pasted(folder, tables)
