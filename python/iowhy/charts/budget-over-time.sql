-- title: Where the time went, over time
-- question: When did the command compute, and when and for what did it wait?
-- report: budget
-- draws: stacked
-- place: 10
-- needs: thread_time
-- Of what a thread did within the interval in which it was read the order is not known.
-- column at_s: begin of the cell, after the start of the recording, s
-- column span_s: its length, s
-- column class: what the time was spent on, text
-- column elapsed_ns: of the cell, ns
WITH cells AS (
    SELECT
        start_ns, elapsed_ns, grid_ns, last_cell,
        (last_cell + 240) // 240 AS together
    FROM budget_grid
), summed AS (
    SELECT l.cell // g.together AS place, l.class, sum(l.elapsed_ns) AS elapsed_ns
    FROM class_cells l
    CROSS JOIN cells g
    GROUP BY 1, 2
), places AS (
    SELECT unnest(generate_series(CAST(0 AS BIGINT), last_cell // together)) AS place FROM cells
), lengths AS (
    SELECT
        p.place,
        CASE WHEN p.place = g.last_cell // g.together
            THEN g.elapsed_ns - p.place * g.together * g.grid_ns
            ELSE g.together * g.grid_ns
        END AS length_ns
    FROM places p
    CROSS JOIN cells g
), every AS (
    SELECT place, class, elapsed_ns FROM summed
    UNION ALL
    SELECT l.place, 'idle', greatest(l.length_ns - coalesce(sum(s.elapsed_ns), 0), 0)
    FROM lengths l
    LEFT JOIN summed s ON s.place = l.place
    GROUP BY l.place, l.length_ns
)
SELECT
    e.place * g.together * g.grid_ns / 1e9 AS at_s,
    l.length_ns / 1e9 AS span_s,
    c.class,
    CAST(round(e.elapsed_ns) AS BIGINT) AS elapsed_ns
FROM every e
CROSS JOIN cells g
JOIN lengths l ON l.place = e.place
JOIN budget_classes c ON c.key = e.class
WHERE e.elapsed_ns >= 0.5
ORDER BY at_s, c.place
