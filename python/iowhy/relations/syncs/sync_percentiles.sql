-- title: How long the sync calls of one name took: the middle, and what few exceed
-- uses: sync_calls
-- percentiles by: name
-- column name: call, as sync_calls has it, text
-- column p50_ns: median duration, ns
-- column p99_ns: 99th percentile of the duration, ns
SELECT name, dur_ns AS value FROM sync_calls
