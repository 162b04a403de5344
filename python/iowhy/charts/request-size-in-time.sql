-- title: Sizes of block requests
-- question: How large were the requests of the chosen time?
-- report: request-size
-- draws: narrowed
-- place: 246
-- needs: block_requests
-- By when they were queued.
-- column device: block device, text
-- column op: read, write, discard or other, text
-- column whose: command, shared (journal, metadata, flush) or others, text
-- column low_bytes: smallest size of the bucket, bytes
-- column requests: requests in the bucket, count
-- column bytes: their bytes, bytes
WITH guessed AS (
    SELECT q.queue_ns, q.dev, q.op, q.whose, q.bytes, CAST(floor(log2(q.bytes)) AS BIGINT) AS guess
    FROM counted_requests q
    WHERE q.bytes > 0
), sized AS (
    -- A logarithm may miss an exact power of two by one: the comparison with the power itself does not.
    SELECT
        *,
        CAST(pow(2, CASE
            WHEN pow(2, guess) > bytes THEN guess - 1
            WHEN pow(2, guess + 1) <= bytes THEN guess + 1
            ELSE guess
        END) AS BIGINT) AS low_bytes
    FROM guessed
)
SELECT
    q.queue_ns AS ts_ns,
    coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)) AS device,
    q.op, q.whose, q.low_bytes, 1 AS requests, q.bytes
FROM sized q
LEFT JOIN devices d ON d.dev = q.dev
