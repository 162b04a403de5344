"""Rows in files without a name: whoever uses them, in whatever process."""

import os
import signal
from pathlib import Path

from iowhy.recordings.stored_rows import StoredRows


def test_a_forked_process_has_them_as_well(tmp_path: Path) -> None:
    """Threads are not forked: a database that the parent used would wait for its own for ever."""
    import numpy as np

    rows = StoredRows.of({"a": np.arange(3)})
    assert len(rows) == 3  # this process has its database now
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        status = 1
        try:
            rows.select({"b": "a + 1"}).write(tmp_path / "b.parquet")
            status = 0 if rows.value("sum(a)") == 3 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (tmp_path / "b.parquet").stat().st_size > 0
    assert rows.value("max(a)") == 2


def test_one_list_among_thousands_of_empty_ones_is_kept() -> None:
    import numpy as np

    flags: list[list[str] | None] = [[] for _ in range(3000)]
    flags[2718], flags[5] = ["sync"], None
    rows = StoredRows.of({"flags": np.fromiter(flags, object, len(flags))}, {"flags": "VARCHAR[]"})
    assert [row["flags"] for row in rows.rows()] == flags
