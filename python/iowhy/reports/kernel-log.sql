-- title: The kernel's log
-- question: What did the kernel warn of, and of which disk?
-- stands in for: dmesg -T --level err,warn
-- filters: since until
-- about: at_s device text
-- column at_s: when it was read, at most a tenth of a second after it was logged, from the start, s
-- column level: 0 emergency to 4 warning, number
-- column device: disk that it names, or that hangs on what it names; NULL: none, text
-- column text: its first line, text
-- column left_out: of a row without a text: how many were not kept, count
SELECT
    (l.ts_ns - r.start_ns) / 1e9 AS at_s,
    l.level,
    d.name AS device,
    l.text,
    l.left_out
FROM kernel_log l
CROSS JOIN recording r
LEFT JOIN (SELECT dev, max(name) AS name FROM devices GROUP BY dev) d ON d.dev = l.dev
ORDER BY l.ts_ns, l.text
