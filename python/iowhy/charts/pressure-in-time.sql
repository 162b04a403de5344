-- title: Pressure
-- question: How long did tasks stall on CPU, I/O or memory in the chosen time?
-- report: pressure
-- draws: narrowed
-- place: 251
-- needs: pressure_samples
-- What was added from one reading to the next, by the later one.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column scope: machine, or the path of a control group, text
-- column resource: cpu, io or memory, text
-- column kind: some (at least one task stalls) or full (all do), text
-- column stalled_ns: time stalled, ns
WITH steps AS (
    SELECT
        scope, resource, kind, ts_ns,
        total_ns - lag(total_ns) OVER (PARTITION BY scope, resource, kind ORDER BY ts_ns) AS stalled_ns
    FROM pressure_samples
)
SELECT
    greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    p.scope,
    p.resource,
    p.kind,
    CAST(sum(p.stalled_ns) AS BIGINT) AS stalled_ns
FROM steps p
CROSS JOIN chart_cells c
WHERE p.stalled_ns > 0
GROUP BY greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), p.scope, p.resource, p.kind
ORDER BY stalled_ns DESC, p.scope, p.resource, p.kind, at_s
