-- title: How long tasks stalled for one resource, in the machine or one control group
-- uses: pressure_samples
-- column scope: machine, or the path of a control group, text
-- column resource: cpu, io or memory, text
-- column kind: some (at least one task stalls) or full (all do), text
-- column stalled_ns: time stalled, ns
-- column stalled_share: of the time between the readings, share
SELECT
    scope,
    resource,
    kind,
    max(total_ns) - min(total_ns) AS stalled_ns,
    (max(total_ns) - min(total_ns)) / nullif(max(ts_ns) - min(ts_ns), 0) AS stalled_share
FROM pressure_samples
GROUP BY scope, resource, kind
