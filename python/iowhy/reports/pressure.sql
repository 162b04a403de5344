-- title: Pressure
-- question: How much of the time did tasks stall on CPU, I/O or memory?
-- stands in for: cat /proc/pressure/*
-- filters: since until
-- about: scope resource kind stalled_ns stalled_share
-- column scope: machine, or the path of a control group, text
-- column resource: cpu, io or memory, text
-- column kind: some (at least one task stalls) or full (all do), text
-- column stalled_ns: time stalled, ns
-- column stalled_share: of the time between the readings, share
SELECT
    scope,
    resource,
    kind,
    stalled_ns,
    stalled_share
FROM pressure_totals
ORDER BY scope, stalled_ns DESC, resource, kind
