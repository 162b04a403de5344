-- title: I/O limits by device
-- question: Which limits of the command's control groups held for which device, and how near did it come to them?
-- stands in for: cat io.max, cat blkio.throttle.*
-- of the whole run: a limit is the tightest that was in force
-- about: device read_limit_bytes_per_s read_bytes_per_s write_limit_bytes_per_s written_bytes_per_s
-- column device: block device; its number where its name is not known, text
-- column read_limit_bytes_per_s: limit on reads; NULL without one, bytes/s
-- column read_bytes_per_s: what the command read there, over the whole run, bytes/s
-- column write_limit_bytes_per_s: limit on writes; NULL without one, bytes/s
-- column written_bytes_per_s: what the command wrote there, over the whole run, bytes/s
-- column read_limit_per_s: limit on the number of reads; NULL without one, 1/s
-- column reads_per_s: its reads there, over the whole run, 1/s
-- column write_limit_per_s: limit on the number of writes; NULL without one, 1/s
-- column writes_per_s: its writes there, over the whole run, 1/s
-- A command that does more than wait for a device comes to a limit only while it waits: the verdict reckons with that time.
SELECT
    coalesce(d.name, CAST(l.dev >> 20 AS VARCHAR) || ':' || CAST(l.dev & 1048575 AS VARCHAR)) AS device,
    l.read_limit_bytes_per_s,
    l.read_bytes * 1e9 / nullif(r.end_ns - r.start_ns, 0) AS read_bytes_per_s,
    l.write_limit_bytes_per_s,
    l.written_bytes * 1e9 / nullif(r.end_ns - r.start_ns, 0) AS written_bytes_per_s,
    l.read_limit_per_s,
    l.reads * 1e9 / nullif(r.end_ns - r.start_ns, 0) AS reads_per_s,
    l.write_limit_per_s,
    l.writes * 1e9 / nullif(r.end_ns - r.start_ns, 0) AS writes_per_s
FROM device_limits l
CROSS JOIN recording r
LEFT JOIN devices d ON d.dev = l.dev
ORDER BY device
