-- title: When devices answered nobody
-- question: When did a device have requests and answer none, for how long, what was asked, and who waited?
-- stands in for: biosnoop's gaps, by eye
-- filters: since until pid container
-- of the whole run: a request of one process shows how long the device answered nobody
-- about: at_s device lasted_ns reads writes flushes waited_ns comm
-- column at_s: since when it answered none, after the start of the recording, s
-- column device: block device, text
-- column lasted_ns: until its next answer, or the end, ns
-- column reads: reads that it had then, count
-- column writes: writes that it had then, count
-- column flushes: flushes that it had then, count
-- column bytes: length of these reads and writes, bytes
-- column waited_ns: uninterruptible waits of the command's threads in that time, summed, ns
-- column comm: of these threads, the one that waited longest, text
-- column tid: that thread, id
-- A device that is busy with a flush empties its cache.
WITH held AS (
    SELECT
        s.dev,
        s.begin_ns,
        w.tgid,
        w.tid,
        sum(least(w.ts_ns + w.dur_ns, s.end_ns) - greatest(w.ts_ns, s.begin_ns)) AS waited_ns
    FROM device_silences s
    JOIN uninterruptible_waits w ON w.ts_ns < s.end_ns AND w.ts_ns + w.dur_ns > s.begin_ns
    GROUP BY s.dev, s.begin_ns, w.tgid, w.tid
), longest AS (
    SELECT
        *,
        sum(waited_ns) OVER (PARTITION BY dev, begin_ns) AS all_ns,
        row_number() OVER (PARTITION BY dev, begin_ns ORDER BY waited_ns DESC, tid) AS place
    FROM held
)
SELECT
    (s.begin_ns - r.start_ns) / 1e9 AS at_s,
    coalesce(d.name, CAST(s.dev >> 20 AS VARCHAR) || ':' || CAST(s.dev & 1048575 AS VARCHAR)) AS device,
    s.end_ns - s.begin_ns AS lasted_ns,
    s.reads,
    s.writes,
    s.flushes,
    s.bytes,
    l.all_ns AS waited_ns,
    n.comm,
    l.tid
FROM device_silences s
CROSS JOIN recording r
LEFT JOIN devices d ON d.dev = s.dev
LEFT JOIN longest l ON l.dev = s.dev AND l.begin_ns = s.begin_ns AND l.place = 1
LEFT JOIN named_threads n ON n.tgid = l.tgid AND n.tid = l.tid
ORDER BY at_s, device
