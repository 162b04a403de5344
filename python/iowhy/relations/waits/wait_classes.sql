-- title: The class of waits of one reason in one call
-- uses: call_kinds, durable_calls, pasted_waits, wait_kinds, wait_totals, wait_words
-- filtered as: nothing
-- kept: table
-- The reason decides, then the call: the writeback of a page is a wait to write in ftruncate, and one for
-- sync in fsync, or in a write that is to be durable (where the recording says, only there). Opening a file reads names, which have
-- their own reasons: else it frees or allocates blocks (O_TRUNC, O_CREAT), or waits for an answer.
-- Reasons that are not the recorder's are classed by the words in them, where the call does not decide.
-- column reason: reason, NULL where only calls were recorded, text
-- column syscall: call, NULL outside any, text
-- column io: whether the kernel counts it as I/O wait, bool
-- column key: number of the combination, number
-- column class: key of the class (budget_classes), or `collect`: to read, to write or for sync, as what is in flight, text
WITH seen AS (
    SELECT DISTINCT reason, syscall, io FROM wait_totals
    UNION
    SELECT reason, syscall, CAST(NULL AS BOOLEAN) FROM pasted_waits
), named AS (
    SELECT
        s.reason,
        min(w.place) AS place
    FROM (SELECT DISTINCT reason FROM seen) s
    JOIN wait_words w ON contains(replace(replace(lower(s.reason), 'block', ''), 'clock', ''), w.word)
    GROUP BY s.reason
), by_words AS (
    SELECT DISTINCT n.reason, w.class FROM named n JOIN wait_words w ON w.place = n.place
)
SELECT
    s.reason,
    s.syscall,
    s.io,
    row_number() OVER (ORDER BY s.reason, s.syscall, s.io) AS key,
    CASE
        WHEN x.budget IN ('throttled', 'memory', 'sync', 'lock', 'idle', 'unexplained') THEN x.budget
        WHEN k.kind = 'sync' OR (x.budget = 'writeback' AND k.kind = 'write' AND d.durable IS NOT FALSE) THEN 'sync'
        WHEN x.budget IN ('read', 'write') THEN x.budget
        WHEN k.kind = 'collect' OR s.syscall = 'io_uring worker' THEN 'collect'
        WHEN x.budget = 'writeback' THEN 'write'
        WHEN k.kind IN ('write', 'change') OR k.direction = 'write' OR k.closes THEN 'write'
        WHEN k.opens AND s.reason IS NOT NULL AND x.opening IS NULL THEN 'write'
        WHEN k.kind IN ('read', 'lookup') OR k.direction = 'read' THEN 'read'
        WHEN x.reason IS NULL AND b.class IS NOT NULL THEN b.class
        -- A page fault has no call: what it waits for is a page, to be read or held by a reader.
        WHEN s.io OR x.outside = 'read' THEN 'read'
        ELSE 'unexplained'
    END AS class
FROM seen s
LEFT JOIN call_kinds k ON k.name = s.syscall
LEFT JOIN wait_kinds x ON x.reason = s.reason
LEFT JOIN durable_calls d ON d.name = s.syscall
LEFT JOIN by_words b ON b.reason = s.reason
