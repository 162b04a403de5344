-- title: What one process waits for most: the class of the budget with most of its waits, and the reason of most of that
-- uses: process_waits
-- column tgid: process, id
-- column class: key of the class of the time budget, text
-- column reason: reason, text
-- column parts: all of its waits (process_waits), in sixteenths of a nanosecond, number
-- column class_parts: those of the class, number
WITH by_class AS (
    SELECT
        tgid, class, reason, parts AS reason_parts,
        sum(parts) OVER (PARTITION BY tgid) AS parts,
        sum(parts) OVER (PARTITION BY tgid, class) AS class_parts
    FROM process_waits
), ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY tgid ORDER BY class_parts DESC, class, reason_parts DESC, coalesce(reason, '')
        ) AS place
    FROM by_class
)
SELECT tgid, class, reason, CAST(parts AS BIGINT) AS parts, CAST(class_parts AS BIGINT) AS class_parts
FROM ranked
WHERE place = 1
