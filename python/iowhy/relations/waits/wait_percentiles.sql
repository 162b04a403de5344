-- title: How long the waits of one reason in one call took: the middle, and what few exceed
-- uses: waits
-- percentiles by: reason, syscall
-- column reason: reason, text
-- column syscall: call, NULL outside any, text
-- column p50_ns: median duration, ns
-- column p99_ns: 99th percentile of the duration, ns
SELECT reason, syscall, dur_ns AS value FROM waits
