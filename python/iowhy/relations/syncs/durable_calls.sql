-- title: Whether calls of one name that write return once that is durable, some of them or none
-- uses: call_kinds, call_sums, recording, syscalls
-- filtered as: nothing
-- kept: table
-- Names of which it is not known have no row.
-- column name: call, text
-- column durable: some of them do, bool
SELECT s.name, bool_or(s.durable) AS durable
FROM call_sums s
JOIN call_kinds k ON k.name = s.name
CROSS JOIN recording r
WHERE r.tells_durable AND k.kind IN ('write', 'copy') AND s.durable IS NOT NULL
GROUP BY s.name
UNION ALL
SELECT s.name, bool_or(s.durable) AS durable
FROM syscalls s
JOIN call_kinds k ON k.name = s.name
CROSS JOIN recording r
WHERE NOT r.tells_durable AND k.kind IN ('write', 'copy') AND s.durable IS NOT NULL
GROUP BY s.name
