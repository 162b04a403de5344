-- title: One process by its name, with the container or service that it was in
-- column tgid: process, id
-- column comm: name of its first thread, text
-- column container: name of the container or service, its id where it has none; NULL in none, text
-- column in_none: it was in none; NULL where that is not known, bool
SELECT n.tgid, n.comm, coalesce(c.name, nullif(n.container, '')) AS container, n.container = '' AS in_none
FROM (
    SELECT tgid, max(comm) AS comm, max(container) AS container
    FROM (
        SELECT tgid, comm, container FROM main.threads WHERE tid = tgid
        UNION ALL
        SELECT tgid, comm, container FROM main.neighbours
    ) AS b
    GROUP BY tgid
) n
LEFT JOIN (SELECT id, max(name) AS name FROM main.containers GROUP BY id) c ON c.id = n.container
