-- title: The machine's memory at the end of an interval of the recording's charts
-- uses: memory_samples, recording
-- column slice: number of the interval, number
-- column free_bytes: not used at all, bytes
-- column cached_bytes: page cache, bytes
-- column available_bytes: can be had without swapping, bytes
-- column dirty_bytes: pages waiting to be written, bytes
-- column writeback_bytes: pages being written, bytes
-- column most_dirty_bytes: the most of dirty_bytes in it, bytes
-- column most_writeback_bytes: the most of writeback_bytes in it, bytes
SELECT
    CAST(floor((m.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
    arg_max(m.free_bytes, m.ts_ns) AS free_bytes,
    arg_max(m.cached_bytes, m.ts_ns) AS cached_bytes,
    arg_max(m.available_bytes, m.ts_ns) AS available_bytes,
    arg_max(m.dirty_bytes, m.ts_ns) AS dirty_bytes,
    arg_max(m.writeback_bytes, m.ts_ns) AS writeback_bytes,
    max(m.dirty_bytes) AS most_dirty_bytes,
    max(m.writeback_bytes) AS most_writeback_bytes
FROM memory_samples m
CROSS JOIN recording r
GROUP BY 1
