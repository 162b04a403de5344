-- title: Outliers
-- question: Whose disk is far from its peers on the same work?
-- reads: device_work
-- about: host device op ratio extra_ns requests
-- column host: the machine's name, text
-- column device: block device, text
-- column op: read, write or flush, text
-- column ratio: how many times as long as with its peers a request of the same size takes, ratio
-- column deviations: how far that is from the median of the peers, in their robust standard deviations, number
-- column extra_ns: time of its requests that peers would not have taken; negative if it is quicker, ns
-- column requests: its requests, count
-- column hosts: machines that it is compared with, itself among them, count
-- column peers_ratio: robust standard deviation of the peers, as a ratio, ratio
-- column kind: kind of the disk, text
-- column service: program that was watched, text
-- column told_by: recording (each request), or agent (its counts), text
-- column worst: its recording with the most such requests, text
-- The same work is: the same program, kind of disk, operation and size of request (powers of two; of the agent's counts the mean of an interval's
-- requests). What the agent counts is compared with what other agents count, recordings with recordings. Of each disk the logarithm of the median latency
-- of each size is compared with the median of all disks, and the differences of its sizes are averaged, by requests. What is
-- compared is the median of these and their median absolute deviation (MAD, times 1.4826: the standard deviation of a normal distribution),
-- which half of the hosts would have to be wrong to move: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993; Rousseeuw and Croux,
-- Alternatives to the Median Absolute Deviation, 1993. Shown is what is 5 such deviations and a factor of 1.5 away (they take
-- 3.5, of one sample; a fleet asks a thousand times). Fewer than 8 hosts have no peers, and fewer than 10 requests no median.
WITH cells AS (
    SELECT
        r.host,
        r.recording,
        coalesce(r.command, '') AS service,
        d.device,
        d.kind,
        d.told_by,
        d.op,
        d.size_class,
        d.requests,
        d.total_ns,
        ln(d.median_ns) AS log_ns
    FROM device_work d
    JOIN recordings r ON r.fleet_no = d.fleet_no
    WHERE d.requests >= 10 AND d.median_ns > 0 AND r.host IS NOT NULL
), disks AS (
    SELECT
        host,
        service,
        device,
        kind,
        told_by,
        op,
        size_class,
        sum(requests) AS requests,
        sum(total_ns) AS total_ns,
        sum(requests * log_ns) / sum(requests) AS log_ns
    FROM cells
    GROUP BY host, service, device, kind, told_by, op, size_class
), usual AS (
    SELECT service, kind, told_by, op, size_class, quantile_cont(log_ns, 0.5) AS log_ns
    FROM disks
    GROUP BY service, kind, told_by, op, size_class
    HAVING count(DISTINCT host) >= 8
), compared AS (
    SELECT
        d.host,
        d.service,
        d.device,
        d.kind,
        d.told_by,
        d.op,
        sum(d.requests) AS requests,
        sum(d.total_ns) AS total_ns,
        sum(d.requests * (d.log_ns - u.log_ns)) / sum(d.requests) AS off
    FROM disks d
    JOIN usual u ON u.service = d.service AND u.kind = d.kind AND u.told_by = d.told_by
        AND u.op = d.op AND u.size_class = d.size_class
    GROUP BY d.host, d.service, d.device, d.kind, d.told_by, d.op
), middle AS (
    SELECT service, kind, told_by, op, quantile_cont(off, 0.5) AS off, count(DISTINCT host) AS hosts
    FROM compared
    GROUP BY service, kind, told_by, op
), spread AS (
    -- Hosts that are all alike are not distinguished by less than 3 %.
    SELECT
        c.service,
        c.kind,
        c.told_by,
        c.op,
        greatest(1.4826 * quantile_cont(abs(c.off - m.off), 0.5), 0.03) AS deviation
    FROM compared c
    JOIN middle m ON m.service = c.service AND m.kind = c.kind AND m.told_by = c.told_by AND m.op = c.op
    GROUP BY c.service, c.kind, c.told_by, c.op
), placed AS (
    SELECT
        host,
        service,
        device,
        kind,
        told_by,
        op,
        recording,
        row_number() OVER (
            PARTITION BY host, service, device, kind, told_by, op ORDER BY sum(requests) DESC, recording
        ) AS place
    FROM cells
    GROUP BY host, service, device, kind, told_by, op, recording
)
SELECT
    c.host,
    c.device,
    c.op,
    exp(c.off - m.off) AS ratio,
    (c.off - m.off) / s.deviation AS deviations,
    CAST(round(c.total_ns * (1 - exp(m.off - c.off))) AS BIGINT) AS extra_ns,
    c.requests,
    m.hosts,
    exp(s.deviation) AS peers_ratio,
    c.kind,
    nullif(c.service, '') AS service,
    c.told_by,
    p.recording AS worst
FROM compared c
JOIN middle m ON m.service = c.service AND m.kind = c.kind AND m.told_by = c.told_by AND m.op = c.op
JOIN spread s ON s.service = c.service AND s.kind = c.kind AND s.told_by = c.told_by AND s.op = c.op
JOIN placed p ON p.host = c.host AND p.service = c.service AND p.device = c.device
    AND p.kind = c.kind AND p.told_by = c.told_by AND p.op = c.op AND p.place = 1
WHERE m.hosts >= 8 AND abs(c.off - m.off) >= greatest(5 * s.deviation, ln(1.5))
ORDER BY abs(c.off - m.off) / s.deviation DESC, c.host, c.device, c.op, c.told_by
