-- title: Addresses over time
-- question: Where on the device did requests go, for which file, and did they jump?
-- report: addresses
-- draws: places
-- place: 40
-- needs: block_requests
-- The eight files with most requests have their own colours. A jump is a request that does not begin where the
-- one that the device was sent before it ended, whoever made that. Stretches that nothing used are drawn short if they are far longer
-- than most: a file of 64 MB next to a journal 100 GB away would be one line.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column device: block device, text
-- column row: which row it is drawn in, upwards, number
-- column rows: how many rows together, number
-- column address_bytes: where on the device what was used of them begins, bytes
-- column height_bytes: from there to its end, bytes
-- column skipped_bytes: what of longer stretches below is not drawn, bytes
-- column file: file that owns the requests, or what they are, text
-- column requests: requests that began there and then, count
-- column jumps: of these, jumps of the device, count
-- column bytes: their lengths, bytes
WITH named AS (
    SELECT
        greatest(least((q.sent_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) AS cell,
        q.dev,
        q.sector * 512 AS address,
        q.bytes,
        q.seek_bytes,
        CASE
            WHEN q.whose = 'others' THEN 'of others'
            WHEN p.path IS NOT NULL THEN p.path
            WHEN q.owner_kind IN ('journal', 'metadata', 'swap') THEN q.owner_kind
            ELSE 'file not known'
        END AS file
    FROM request_sequence q
    CROSS JOIN chart_cells c
    LEFT JOIN named_files p ON p.dev = q.owner_dev AND p.ino = q.owner_ino
), extents AS (
    SELECT dev, address, max(address + bytes) AS upto FROM named GROUP BY dev, address
), in_order AS (
    SELECT
        *,
        coalesce(
            max(upto) OVER (PARTITION BY dev ORDER BY address ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), address
        ) AS used_upto
    FROM extents
), usual AS (
    -- What is between most: longer ones are drawn as four of these.
    SELECT dev, greatest(4 * quantile_disc(greatest(address - used_upto, 0), 0.9), 1048576) AS longest
    FROM in_order
    GROUP BY dev
), positions AS (
    -- Up to its begin: what is used before it, once, and what is between.
    SELECT
        o.dev,
        o.address,
        o.upto,
        sum(least(greatest(o.address - o.used_upto, 0), u.longest) + greatest(o.upto - greatest(o.used_upto, o.address), 0))
            OVER (PARTITION BY o.dev ORDER BY o.address)
            - greatest(o.upto - greatest(o.used_upto, o.address), 0) - greatest(o.used_upto - o.address, 0) AS position
    FROM in_order o
    JOIN usual u ON u.dev = o.dev
), ranges AS (
    SELECT dev, greatest((max(position + upto - address) + 127) // 128, 4096) AS height FROM positions GROUP BY dev
), files AS (
    SELECT file, row_number() OVER (ORDER BY count(*) DESC, file) AS place FROM named GROUP BY file
), located AS (
    SELECT
        n.cell,
        n.dev,
        CAST(p.position // r.height AS BIGINT) AS row,
        CASE WHEN f.place <= 8 THEN f.file ELSE 'other files' END AS file,
        count(*) AS requests,
        count(CASE WHEN n.seek_bytes <> 0 THEN 1 END) AS jumps,
        sum(n.bytes) AS bytes,
        min(n.address) AS address,
        max(n.address + n.bytes) AS upto,
        max(n.address - p.position) AS skipped
    FROM named n
    JOIN positions p ON p.dev = n.dev AND p.address = n.address
    JOIN ranges r ON r.dev = n.dev
    JOIN files f ON f.file = n.file
    GROUP BY 1, 2, 3, 4
), grid AS (
    -- Requests that go everywhere all the time are drawn in larger cells, two or four of them together each way.
    SELECT CASE
        WHEN count(*) <= 9000 THEN 1
        WHEN count(DISTINCT (cell // 2, dev, row // 2, file)) <= 9000 THEN 2
        ELSE 4
    END AS together
    FROM located
)
SELECT
    l.cell // g.together * g.together * max(c.cell_ns) / 1e9 AS at_s,
    g.together * max(c.cell_ns) / 1e9 AS span_s,
    coalesce(max(d.name), CAST(l.dev >> 20 AS VARCHAR) || ':' || CAST(l.dev & 1048575 AS VARCHAR)) AS device,
    l.row // g.together * g.together AS row,
    g.together AS rows,
    min(l.address) AS address_bytes,
    max(l.upto) - min(l.address) AS height_bytes,
    CAST(max(l.skipped) AS BIGINT) AS skipped_bytes,
    l.file,
    CAST(sum(l.requests) AS BIGINT) AS requests,
    CAST(sum(l.jumps) AS BIGINT) AS jumps,
    CAST(sum(l.bytes) AS BIGINT) AS bytes
FROM located l
CROSS JOIN grid g
CROSS JOIN chart_cells c
LEFT JOIN devices d ON d.dev = l.dev
GROUP BY l.cell // g.together, g.together, l.dev, l.row // g.together, l.file
ORDER BY requests DESC, at_s, address_bytes
