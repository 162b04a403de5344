-- title: Trend
-- question: What takes longer since a rollout, over all hosts?
-- reads: call_work class_time agent_work verdicts findings rollout
-- about: what name changed before after change hosts
-- column what: cause (what it explains of the elapsed time), call (time of one call), class (share of the elapsed time), or what the agent timed (agent sync, agent request, agent io_wait, …: time of one), text
-- column name: of the cause, of the system call, of the operation, or of the class of the time budget; NULL outside any call, text
-- column changed: grows, shrinks, no change is shown, or too few hosts, text
-- column before: median of the hosts: of a cause or class its share of the elapsed time, else the mean time of one, unit of row
-- column after: the same since then, unit of row
-- column change: median of the hosts' own changes: of a cause or class in shares of the elapsed time, else of the time before, share
-- column low: lower end of its interval of 99.99 %, share
-- column high: upper end, share
-- column hosts: machines that have recordings of both, count
-- column service: program that was watched; of what the agent timed, the container or service, text
-- column unit: of before and after, share or ns, text
-- column since: the moment of the rollout, UTC, text
-- Each host is compared with itself, so that what differs from host to host cancels; the change is the median of theirs, and its interval is
-- between two of them in order, whatever their distribution: the (n - 3.89 √n)/2-th from either end (Conover, Practical Nonparametric
-- Statistics, 1999, 3.2). 99.99 %, because some thirty things are asked of each fleet. What grows or shrinks has an interval
-- beyond 2 % of the time of a call, a sync, a request or a wait, or half a hundredth of the elapsed time. The interval needs 19 hosts. A cause that a recording's verdict does not find
-- explains nothing there.
WITH sides AS (
    SELECT r.fleet_no, r.host, coalesce(r.command, '') AS service, r.started >= o.since AS later
    FROM recordings r
    CROSS JOIN rollout o
    WHERE r.host IS NOT NULL AND r.started IS NOT NULL
), classes AS (
    SELECT s.host, s.service, s.later, c.class AS name, sum(c.elapsed_part) AS part
    FROM class_time c
    JOIN sides s ON s.fleet_no = c.fleet_no
    GROUP BY s.host, s.service, s.later, c.class
), whole AS (
    SELECT host, service, later, sum(part) AS part
    FROM classes
    GROUP BY host, service, later
), named AS (
    SELECT DISTINCT service, name
    FROM classes
), judged AS (
    SELECT s.host, s.service, s.later, sum(v.judged_ns) AS judged_ns
    FROM verdicts v
    JOIN sides s ON s.fleet_no = v.fleet_no
    GROUP BY s.host, s.service, s.later
), explained AS (
    SELECT s.host, s.service, s.later, f.cause AS name, sum(f.elapsed_ns) AS elapsed_ns
    FROM findings f
    JOIN sides s ON s.fleet_no = f.fleet_no
    WHERE f.elapsed_ns IS NOT NULL
    GROUP BY s.host, s.service, s.later, f.cause
), causes AS (
    SELECT DISTINCT service, name
    FROM explained
), measured AS (
    SELECT
        'call' AS what,
        c.name,
        s.host,
        s.service,
        s.later,
        CAST(sum(c.total_ns) AS DOUBLE) / sum(c.calls) AS value
    FROM call_work c
    JOIN sides s ON s.fleet_no = c.fleet_no
    GROUP BY c.name, s.host, s.service, s.later
    HAVING sum(c.calls) >= 10 AND sum(c.total_ns) > 0
    UNION ALL
    SELECT
        'agent ' || a.measure AS what,
        a.name,
        s.host,
        a.service,
        s.later,
        CAST(sum(a.total_ns) AS DOUBLE) / sum(a.times) AS value
    FROM agent_work a
    JOIN sides s ON s.fleet_no = a.fleet_no
    GROUP BY a.measure, a.name, s.host, a.service, s.later
    HAVING sum(a.times) >= 10 AND sum(a.total_ns) > 0
    UNION ALL
    -- A class that a host has no time of is 0 there.
    SELECT 'class' AS what, n.name, w.host, w.service, w.later, coalesce(c.part, 0) / w.part AS value
    FROM whole w
    JOIN named n ON n.service = w.service
    LEFT JOIN classes c ON c.host = w.host AND c.service = w.service AND c.later = w.later AND c.name = n.name
    WHERE w.part > 0
    UNION ALL
    SELECT
        'cause' AS what,
        n.name,
        j.host,
        j.service,
        j.later,
        CAST(coalesce(e.elapsed_ns, 0) AS DOUBLE) / j.judged_ns AS value
    FROM judged j
    JOIN causes n ON n.service = j.service
    LEFT JOIN explained e ON e.host = j.host AND e.service = j.service AND e.later = j.later AND e.name = n.name
    WHERE j.judged_ns > 0
), hosts AS (
    SELECT
        b.what,
        b.name,
        b.service,
        b.host,
        b.value AS before,
        a.value AS after,
        CASE WHEN b.what IN ('cause', 'class') THEN a.value - b.value ELSE a.value / b.value - 1 END AS change
    FROM measured b
    JOIN measured a ON a.what = b.what AND a.name = b.name AND a.service = b.service AND a.host = b.host
    WHERE NOT b.later AND a.later
), ordered AS (
    SELECT
        h.*,
        row_number() OVER (PARTITION BY h.what, h.name, h.service ORDER BY h.change, h.host) AS place,
        count(*) OVER (PARTITION BY h.what, h.name, h.service) AS hosts
    FROM hosts h
), ends AS (
    SELECT o.*, floor((o.hosts - 3.89 * sqrt(o.hosts)) / 2) AS last
    FROM ordered o
), found AS (
    SELECT
        what,
        name,
        service,
        max(hosts) AS hosts,
        quantile_cont(before, 0.5) AS before,
        quantile_cont(after, 0.5) AS after,
        quantile_cont(change, 0.5) AS change,
        max(CASE WHEN last >= 1 AND place = last THEN change END) AS low,
        max(CASE WHEN last >= 1 AND place = hosts + 1 - last THEN change END) AS high,
        CASE WHEN what IN ('cause', 'class') THEN 0.005 ELSE 0.02 END AS least
    FROM ends
    GROUP BY what, name, service
)
SELECT
    f.what,
    nullif(f.name, '') AS name,
    CASE
        WHEN f.low IS NULL THEN 'too few hosts'
        WHEN f.low > f.least THEN 'grows'
        WHEN f.high < -f.least THEN 'shrinks'
        ELSE 'no change is shown'
    END AS changed,
    f.before,
    f.after,
    f.change,
    f.low,
    f.high,
    f.hosts,
    nullif(f.service, '') AS service,
    CASE WHEN f.what IN ('cause', 'class') THEN 'share' ELSE 'ns' END AS unit,
    o.since
FROM found f
CROSS JOIN rollout o
ORDER BY
    CASE WHEN f.low > f.least THEN 1 WHEN f.high < -f.least THEN 2 WHEN f.low IS NOT NULL THEN 3 ELSE 4 END,
    abs(f.change) / f.least DESC,
    f.what,
    f.name,
    f.service
