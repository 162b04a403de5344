-- title: Time on a CPU in the kernel of one kind, by how the CPUs were used then
-- kept: table
-- Lengths are in sixteenths of a nanosecond.
-- column kind: what it was spent on (kernel_kinds); NULL where that is not told apart, text
-- column mode: serial, saturated or parallel use of the CPUs, text
-- column parts: time of all threads, number
-- column elapsed_parts: what falls to it of the elapsed time, number
WITH by_thread AS (
    SELECT
        t.tid,
        b.mode,
        CAST(sum(r.kernel_parts) AS BIGINT) AS parts,
        sum(
            (r.kernel_parts - floor(r.kernel_parts * r.cpu_slack)) * b.critical_share
            + floor(r.kernel_parts * r.cpu_slack) * b.slack_share
        ) AS elapsed_parts
    FROM row_cells r
    JOIN budget_cells b ON b.cell = r.cell
    JOIN thread_rows t ON t.row_id = r.row_id
    WHERE r.kernel_parts > 0
    GROUP BY t.tid, b.mode
)
SELECT
    k.kind,
    t.mode,
    CAST(sum(floor(t.parts * coalesce(k.share, 1))) AS BIGINT) AS parts,
    CAST(sum(floor(t.elapsed_parts * coalesce(k.share, 1))) AS BIGINT) AS elapsed_parts
FROM by_thread t
LEFT JOIN kernel_kinds k ON k.tid = t.tid
GROUP BY k.kind, t.mode
