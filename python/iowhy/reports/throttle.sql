-- title: Paused writers
-- question: Which threads did the dirty limits pause, and for how long?
-- stands in for: balance_dirty_pages probes
-- filters: since until pid container
-- about: comm tid pauses waited_ns mean_pause_ns max_pause_ns
-- column comm: name of the thread, text
-- column tgid: process, id
-- column tid: thread, id
-- column pauses: pauses, count
-- column paused_ns: lengths that the kernel asked for, ns
-- column waited_ns: what the thread then really waited, ns
-- column mean_pause_ns: mean pause, ns
-- column max_pause_ns: longest pause, ns
-- column dirty_share: dirty pages of the machine over the limit then, mean, share
-- column first_s: first pause, after the start of the recording, s
-- column last_s: last pause, after the start of the recording, s
WITH waited AS (
    SELECT tid, sum(dur_ns) AS waited_ns FROM waits WHERE reason = 'dirty_throttle' GROUP BY tid
), paused AS (
    SELECT
        tgid,
        tid,
        count(*) AS pauses,
        sum(pause_ns) AS paused_ns,
        max(pause_ns) AS max_pause_ns,
        avg(dirty_pages / nullif(limit_pages, 0)) AS dirty_share,
        min(ts_ns) AS first_ns,
        max(ts_ns) AS last_ns
    FROM dirty_pauses
    GROUP BY tgid, tid
)
SELECT
    n.comm,
    p.tgid,
    p.tid,
    p.pauses,
    p.paused_ns,
    coalesce(w.waited_ns, CASE WHEN r.ran_waits THEN 0 END) AS waited_ns,
    p.paused_ns / p.pauses AS mean_pause_ns,
    p.max_pause_ns,
    p.dirty_share,
    (p.first_ns - r.start_ns) / 1e9 AS first_s,
    (p.last_ns - r.start_ns) / 1e9 AS last_s
FROM paused p
CROSS JOIN recording r
LEFT JOIN named_threads n ON n.tgid = p.tgid AND n.tid = p.tid
LEFT JOIN waited w ON w.tid = p.tid
ORDER BY p.paused_ns DESC, p.tgid, p.tid
