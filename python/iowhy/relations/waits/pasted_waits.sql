-- title: The waits of one reason, as latencytop prints them
-- uses: call_kinds, measurements
-- filtered as: nothing
-- column reason: latencytop's words, text
-- column syscall: sync call that the words name; NULL where they name none, text
-- column total_ns: time of all waits; NULL where only shares were printed, ns
-- column share: of all time that threads were blocked; NULL where it was not printed, share
WITH printed AS (
    SELECT
        subject AS reason,
        avg(CASE WHEN metric = 'total_ns' THEN value END) AS total_ns,
        avg(CASE WHEN metric = 'share' THEN value END) AS share
    FROM measurements
    WHERE lower(tool) = 'latencytop' AND metric IN ('total_ns', 'share')
    GROUP BY subject
    -- Three years: what is longer is a text that is broken, and would cost all that is next to it.
    HAVING coalesce(avg(CASE WHEN metric = 'total_ns' THEN value END), 0) < 1e17
), calls_named AS (
    SELECT
        p.reason,
        k.name,
        row_number() OVER (PARTITION BY p.reason ORDER BY length(k.name) DESC, k.name) AS place
    FROM printed p
    JOIN call_kinds k ON k.kind = 'sync' AND contains(lower(p.reason), k.name)
)
SELECT p.reason, c.name AS syscall, CAST(round(p.total_ns) AS BIGINT) AS total_ns, p.share
FROM printed p
LEFT JOIN calls_named c ON c.reason = p.reason AND c.place = 1
