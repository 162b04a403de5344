-- title: Paused writers
-- question: Which threads did the dirty limits pause in the chosen time?
-- report: throttle
-- draws: narrowed
-- place: 245
-- needs: dirty_throttle
-- The forty threads that were paused longest, by when the pauses began.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column comm: name of the thread, text
-- column tid: thread, id
-- column pauses: pauses, count
-- column paused_ns: lengths that the kernel asked for, ns
-- column max_pause_ns: the longest, ns
WITH heaviest AS (
    SELECT tgid, tid FROM dirty_pauses GROUP BY tgid, tid ORDER BY sum(pause_ns) DESC, tid LIMIT 40
)
SELECT
    greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    max(n.comm) AS comm,
    p.tid,
    count(*) AS pauses,
    CAST(sum(p.pause_ns) AS BIGINT) AS paused_ns,
    max(p.pause_ns) AS max_pause_ns
FROM dirty_pauses p
CROSS JOIN chart_cells c
JOIN heaviest h ON h.tgid = p.tgid AND h.tid = p.tid
LEFT JOIN named_threads n ON n.tgid = p.tgid AND n.tid = p.tid
GROUP BY greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), p.tgid, p.tid
ORDER BY paused_ns DESC, p.tid, at_s
