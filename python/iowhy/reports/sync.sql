-- title: Synchronous writing
-- question: Where did each fsync-like call's time go: own data, journal, flush, others, CPU?
-- stands in for: ext4slower, latencytop
-- about: name calls total_ns own_data_ns journal_ns flush_ns others_ns
-- column name: call; io_uring or libaio and the operation; writes that are to be durable are O_SYNC ones, text
-- column calls: calls, count
-- column total_ns: their durations, ns
-- column own_data_ns: waiting for the file's own pages, ns
-- column queue_ns: waiting to get its writes into the queue of a device that is busy with writes, ns
-- column journal_ns: waiting for the journal or log, less the device flushes in it, ns
-- column flush_ns: waiting for the device to empty its cache, ns
-- column others_ns: waiting behind other writers (locks) or for a limit (cgroup, dirty pages), ns
-- column cpu_ns: on a CPU, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column other_ns: the rest (memory, interruptible sleep, reasons not known), ns
-- column mean_ns: mean duration, ns
-- column p50_ns: median duration, ns
-- column p99_ns: 99th percentile of the duration, ns
-- column max_ns: longest, ns
-- column files: different files, count
-- column flush_share: flush_ns over total_ns, share
-- column journal_share: journal_ns over total_ns, share
-- own_data to other sum to total_ns. Of operations of io_uring and libaio only the flushes in it are known: the rest is other. A wait belongs to the call of its thread that it began in.
-- A wait for the journal is split: what overlaps with a flush of the filesystem's disk (issue to
-- completion, overlapping flushes taken once) is device flush, the rest is journal. Where block
-- requests were not seen, that part stays in journal_ns. A filesystem whose disk is not recorded is
-- taken to be on the device of its own number, as it does when it fills a whole disk.
WITH split AS (
    SELECT
        s.name,
        s.calls,
        s.total_ns,
        s.cpu_ns,
        s.runnable_ns,
        l.p50_ns,
        l.p99_ns,
        s.max_ns,
        s.files,
        coalesce(p.own_ns, CASE WHEN r.ran_waits AND p.name IS NULL THEN 0 END) AS own_data_ns,
        coalesce(p.queue_ns, CASE WHEN r.ran_waits AND p.name IS NULL THEN 0 END) AS queue_ns,
        coalesce(p.journal_ns, CASE WHEN r.ran_waits AND p.name IS NULL THEN 0 END) AS journal_ns,
        coalesce(p.flush_ns, CASE WHEN r.ran_waits AND p.name IS NULL THEN 0 END) AS flush_ns,
        coalesce(p.others_ns, CASE WHEN r.ran_waits AND p.name IS NULL THEN 0 END) AS others_ns
    FROM sync_totals s
    CROSS JOIN recording r
    LEFT JOIN sync_percentiles l ON l.name = s.name
    LEFT JOIN sync_parts p ON p.name = s.name
)
SELECT
    name,
    calls,
    total_ns,
    own_data_ns,
    queue_ns,
    journal_ns,
    flush_ns,
    others_ns,
    cpu_ns,
    runnable_ns,
    total_ns - coalesce(own_data_ns, 0) - coalesce(queue_ns, 0) - coalesce(journal_ns, 0) - coalesce(flush_ns, 0)
        - coalesce(others_ns, 0) - coalesce(cpu_ns, 0) - coalesce(runnable_ns, 0) AS other_ns,
    total_ns / calls AS mean_ns,
    p50_ns,
    p99_ns,
    max_ns,
    files,
    flush_ns / nullif(total_ns, 0) AS flush_share,
    journal_ns / nullif(total_ns, 0) AS journal_share
FROM split
ORDER BY total_ns DESC, name
