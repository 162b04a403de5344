-- title: One cell of the elapsed time: what the device did that is waited for, or had most to do; all that phases see where no thread was timed
-- uses: budget_grid, disk_steps, phase_device
-- kept: table
-- By its counters, spread evenly from one reading to the next, whoever asked.
-- column cell: number of the cell, number
-- column part: read or write (time with a request in flight, by what those took), requests or bytes (read and written), text
-- column amount: time, ns; of requests and bytes their number, number
WITH steps AS (
    SELECT
        s.before_ns AS begin_ns, s.ts_ns AS end_ns,
        s.reads + s.writes AS requests,
        s.read_bytes + s.written_bytes AS bytes,
        least(s.busy_ns, s.dur_ns) AS busy_ns,
        -- While none of them completes it is not known which they are.
        coalesce(s.read_ns / nullif(s.read_ns + s.write_ns, 0), s.reads / nullif(s.reads + s.writes, 0), 1) AS read_share,
        g.start_ns, g.grid_ns, g.elapsed_ns, g.last_cell,
        least(greatest(s.before_ns - g.start_ns, 0) // g.grid_ns, g.last_cell) AS from_cell,
        least((s.ts_ns - 1 - g.start_ns) // g.grid_ns, g.last_cell) AS to_cell
    FROM disk_steps s
    JOIN phase_device c ON c.dev = s.dev
    CROSS JOIN budget_grid g
    WHERE s.ts_ns > g.start_ns AND s.before_ns < g.start_ns + g.elapsed_ns
), spread AS (
    SELECT *, unnest(generate_series(from_cell, to_cell)) AS cell FROM steps
), shared AS (
    SELECT
        cell, requests, bytes, busy_ns * read_share AS reading_ns, busy_ns * (1 - read_share) AS writing_ns,
        (least(end_ns, CASE WHEN cell = last_cell THEN start_ns + elapsed_ns ELSE start_ns + (cell + 1) * grid_ns END)
            - greatest(begin_ns, start_ns + cell * grid_ns)) / (end_ns - begin_ns) AS share
    FROM spread
), summed AS (
    SELECT
        cell, sum(requests * share) AS requests, sum(bytes * share) AS bytes, sum(reading_ns * share) AS reading_ns,
        sum(writing_ns * share) AS writing_ns
    FROM shared
    GROUP BY cell
)
SELECT cell, 'read' AS part, reading_ns AS amount FROM summed WHERE reading_ns > 0
UNION ALL
SELECT cell, 'write', writing_ns FROM summed WHERE writing_ns > 0
UNION ALL
SELECT cell, 'requests', requests FROM summed WHERE requests > 0
UNION ALL
SELECT cell, 'bytes', bytes FROM summed WHERE bytes > 0
