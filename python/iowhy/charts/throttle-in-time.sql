-- title: Paused writers
-- question: Which threads did the dirty limits pause in the chosen time?
-- report: throttle
-- draws: narrowed
-- place: 245
-- needs: dirty_throttle
-- heaviest: 40 by sum(paused_ns) DESC
-- The forty threads that were paused longest, by when the pauses began.
-- column comm: name of the thread, text
-- column tid: thread, id
-- column pauses: pauses, count
-- column paused_ns: lengths that the kernel asked for, ns
-- column max_pause_ns: the longest, ns
SELECT p.ts_ns, n.comm, p.tid, 1 AS pauses, p.pause_ns AS paused_ns, p.pause_ns AS max_pause_ns
FROM dirty_pauses p
LEFT JOIN named_threads n ON n.tgid = p.tgid AND n.tid = p.tid
