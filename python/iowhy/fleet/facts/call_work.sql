-- title: The system calls of a recording by their name
-- column name: system call, text
-- column kind: read, write, copy, sync, lookup or change, text
-- column calls: calls, count
-- column total_ns: their durations, ns
SELECT c.name, k.kind, sum(c.calls) AS calls, sum(c.total_ns) AS total_ns
FROM operation_sums c
JOIN call_kinds k ON k.name = c.name
WHERE k.kind IN ('read', 'write', 'copy', 'sync', 'lookup', 'change')
GROUP BY c.name, k.kind
