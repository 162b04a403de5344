-- title: Whether calls of one name that write return once that is durable, some of them or none
-- filtered as: nothing
-- kept: table
-- As the recorder summed it up; else by the rows. Names of which it is not known have no row.
-- column name: call, text
-- column durable: some of them do, bool
-- when call_sums and sync_sums
SELECT s.name, bool_or(s.durable) AS durable
FROM main.call_sums s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind IN ('write', 'copy') AND s.durable IS NOT NULL
GROUP BY s.name
-- else
SELECT s.name, bool_or(s.durable) AS durable
FROM main.syscalls s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind IN ('write', 'copy') AND s.durable IS NOT NULL
GROUP BY s.name
