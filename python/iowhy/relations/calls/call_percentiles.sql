-- title: How long the calls of one name took: the middle, and what few exceed
-- uses: file_operations
-- percentiles by: name
-- column name: system call, or operation of io_uring or libaio, text
-- column p50_ns: median duration, ns
-- column p90_ns: 90th percentile of the duration, ns
-- column p99_ns: 99th percentile of the duration, ns
-- column p999_ns: 99.9th percentile of the duration, ns
-- column max_ns: longest, ns
SELECT name, dur_ns AS value FROM file_operations WHERE dur_ns IS NOT NULL
