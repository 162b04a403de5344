-- title: Pressure
-- question: How long did tasks stall on CPU, I/O or memory in the chosen time?
-- report: pressure
-- draws: narrowed
-- place: 251
-- needs: pressure_samples
-- What was added from one reading to the next, by the later one.
-- column scope: machine, or the path of a control group, text
-- column resource: cpu, io or memory, text
-- column kind: some (at least one task stalls) or full (all do), text
-- column stalled_ns: time stalled, ns
SELECT *
FROM (
    SELECT
        scope, resource, kind, ts_ns,
        total_ns - lag(total_ns) OVER (PARTITION BY scope, resource, kind ORDER BY ts_ns) AS stalled_ns
    FROM pressure_samples
)
WHERE stalled_ns > 0
