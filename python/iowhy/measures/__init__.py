"""Measures: one number of a recording each, by one SQL file; comparisons and expectations read them.

**To add a measure**, write `NAME.sql` here; NAME is what people type (`device.written_bytes`). It begins
with a header of `--` lines:

    -- title: written to the device
    -- unit: bytes
    -- sensor: block_requests
    -- classes: write, sync
    SELECT coalesce(sum(bytes), 0) FROM command_data_requests WHERE op = 'write'
    -- by file
    SELECT owner_dev AS dev, owner_ino AS ino, sum(bytes) AS value FROM command_data_requests …

`title` is how results call it, `unit` one of count, ns, bytes and share, `sensor` what must have run for it to be
known, `classes` those of the time budget (keys of tables/classes.toml) that it can account for, the first one
foremost. A measure that the run alone does not decide has a line `-- state:` with what does: it may be compared and
expected, but no baseline holds it. The SELECT gives one value, of the recording's relations; after `-- by file` another may be that says
how much of it is whose, as `dev`, `ino` and `value`, and after `-- by call` one that says so of system calls, as
`name` and `value`. The test of measures looks after the rest.
"""

from iowhy.measures.measure import (
    Measure,
    Part,
    find,
    largest_call,
    largest_file,
    measures,
    values,
)

__all__ = ["Measure", "Part", "find", "largest_call", "largest_file", "measures", "values"]
