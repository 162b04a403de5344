-- title: Whose threads were in uninterruptible sleep longest in a recording: a container, a service of systemd, else a program
-- column service: its name, text
WITH blocked AS (
    SELECT tgid, sum(blocked_ns) AS blocked_ns
    FROM thread_totals
    GROUP BY tgid
), summed AS (
    SELECT CASE WHEN n.level = 'session' THEN n.program ELSE coalesce(c.workload, n.container, n.program) END AS service, sum(b.blocked_ns) AS blocked_ns
    FROM blocked b
    JOIN process_groups n ON n.tgid = b.tgid
    LEFT JOIN named_containers c ON c.id = n.container_id
    -- Threads of the kernel wait for whom they work.
    WHERE b.tgid NOT IN (SELECT tgid FROM threads WHERE ppid = 2)
    GROUP BY CASE WHEN n.level = 'session' THEN n.program ELSE coalesce(c.workload, n.container, n.program) END
), placed AS (
    SELECT service, row_number() OVER (ORDER BY blocked_ns DESC, service) AS place
    FROM summed
    WHERE blocked_ns > 0
)
SELECT service
FROM placed
WHERE place = 1
