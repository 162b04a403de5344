-- title: What one group of processes outside the command loads: a device with requests, a disk's filesystems with dirty pages
-- uses: dirtied_by_others, filesystems, other_sums, process_groups
-- The groups are those of process_groups. Requests are those that were made while the command ran. A write of nothing asks for a
-- flush, which is there as its own request.
-- kept: table
-- column resource: requests or dirty pages, text
-- column dev: block device, id
-- column level: container, service, session, program, process or kernel (its workers), text
-- column container: what the container, service or session is called, or a program of several titles, text
-- column comm: the title or program with most of it, text
-- column programs: its titles and programs, count
-- column tgid: the process of that program with most of it, id
-- column processes: its processes, count
-- column load: time of requests from queue to completion while the command ran, ns, or pages made dirty; NULL where no request was seen to complete, number
-- column place: 1 is the group with most of it, number
WITH loads AS (
    SELECT 'requests' AS resource, dev, tgid, sum(time_ns) AS load
    FROM other_sums
    WHERE tgid IS NOT NULL AND requests > 0
    GROUP BY dev, tgid
    UNION ALL
    SELECT 'dirty pages', f.disk_dev, d.tgid, sum(d.pages)
    FROM dirtied_by_others d
    JOIN (SELECT DISTINCT dev, disk_dev FROM filesystems WHERE disk_dev IS NOT NULL) f ON f.dev = d.dev
    GROUP BY f.disk_dev, d.tgid
), grouped AS (
    SELECT
        l.*,
        coalesce(g.group_key, CAST(l.tgid AS VARCHAR)) AS group_key,
        coalesce(g.level, 'process') AS level,
        g.container,
        g.comm,
        g.program
    FROM loads l
    LEFT JOIN process_groups g ON g.tgid = l.tgid
), by_program AS (
    SELECT *, sum(load) OVER (PARTITION BY resource, dev, group_key, comm) AS program_load
    FROM grouped
), ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY resource, dev, group_key
            ORDER BY program_load DESC NULLS LAST, comm, load DESC NULLS LAST, tgid
        ) AS in_group
    FROM by_program
), summed AS (
    SELECT
        resource,
        dev,
        group_key,
        level,
        coalesce(container, CASE WHEN count(DISTINCT comm) > 1 THEN max(program) END) AS container,
        max(CASE WHEN in_group = 1 THEN comm END) AS comm,
        count(DISTINCT comm) AS programs,
        max(CASE WHEN in_group = 1 THEN tgid END) AS tgid,
        count(*) AS processes,
        sum(load) AS load
    FROM ranked
    GROUP BY resource, dev, group_key, level, container
)
SELECT
    resource, dev, level, container, comm, programs, tgid, processes, load,
    row_number() OVER (PARTITION BY resource, dev ORDER BY load DESC NULLS LAST, group_key) AS place
FROM summed
