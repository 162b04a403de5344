-- title: Time of one class of the budget in one phase
-- uses: budget_grid, class_cells, phases, thread_time
-- kept: table
-- A cell in which a phase ends is divided evenly. Idle is what is left. Nothing where no thread was timed.
-- column phase: number of the phase, number
-- column class: key of the class, text
-- column elapsed_ns: of its elapsed time, ns
-- column thread_ns: time of all threads; of idle NULL, ns
WITH lengths AS (
    SELECT
        c.cell, g.start_ns + c.cell * g.grid_ns AS begin_ns,
        CASE WHEN c.cell = g.last_cell THEN g.start_ns + g.elapsed_ns ELSE g.start_ns + (c.cell + 1) * g.grid_ns END
            AS end_ns
    FROM (SELECT DISTINCT cell FROM class_cells) AS c
    CROSS JOIN budget_grid g
), divided AS (
    SELECT p.phase, l.cell, (least(l.end_ns, p.end_ns) - greatest(l.begin_ns, p.begin_ns)) / (l.end_ns - l.begin_ns) AS part
    FROM lengths l
    JOIN phases p ON p.begin_ns < l.end_ns AND l.begin_ns < p.end_ns
), summed AS (
    SELECT d.phase, c.class, sum(c.elapsed_ns * d.part) AS elapsed_ns, sum(c.thread_ns * d.part) AS thread_ns
    FROM divided d
    JOIN class_cells c ON c.cell = d.cell
    GROUP BY d.phase, c.class
)
SELECT phase, class, elapsed_ns, thread_ns FROM summed
UNION ALL
SELECT p.phase, 'idle', greatest(p.end_ns - p.begin_ns - coalesce(s.elapsed_ns, 0), 0), NULL
FROM phases p
LEFT JOIN (SELECT phase, sum(elapsed_ns) AS elapsed_ns FROM summed GROUP BY phase) s ON s.phase = p.phase
WHERE EXISTS (SELECT 1 FROM thread_time)
