-- title: One process by its name, with the container, service or session that it was in
-- uses: named_containers, neighbours, threads
-- filtered as: nothing
-- column tgid: process, id
-- column comm: its title if it wrote one over its arguments, else the name of its first thread, text
-- column program: the name of its first thread, text
-- column container: what its container, service or session is called (named_containers); NULL in none, text
-- column container_id: id of that; NULL in none, text
-- column in_none: it was in none; NULL if not known, bool
SELECT
    n.tgid,
    coalesce(n.title, n.program) AS comm,
    n.program,
    coalesce(c.container, nullif(n.container, '')) AS container,
    nullif(n.container, '') AS container_id,
    n.container = '' AS in_none
FROM (
    SELECT tgid, max(comm) AS program, max(title) AS title, max(container) AS container
    FROM (
        SELECT tgid, comm, title, container FROM threads WHERE tid = tgid
        UNION ALL
        SELECT tgid, comm, title, container FROM neighbours
    ) AS b
    GROUP BY tgid
) n
LEFT JOIN named_containers c ON c.id = n.container
