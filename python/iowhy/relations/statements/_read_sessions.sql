-- title: Readings of sessions, with what the server says that they sleep for
-- uses: statement_readings
-- column readings: how often, count
-- column span_ns: the time until the next readings, ns
-- column sleep: served: for what another process of the server reads (io_method=worker); ring: for its own io_uring; idle: for anything else; NULL: it does not, or not in the server's words, text
SELECT
    *,
    CASE
        WHEN wait = 'IO: AioIoCompletion' THEN 'served'
        WHEN wait LIKE 'IO: AioIoUring%' THEN 'ring'
        WHEN wait LIKE 'Lock:%' OR wait LIKE 'LWLock:%' OR wait LIKE 'IPC:%' OR wait LIKE 'Client:%' OR wait LIKE 'Timeout:%'
            OR wait LIKE 'BufferPin:%' THEN 'idle'
    END AS sleep
FROM statement_readings
