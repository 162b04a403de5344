-- title: What a process's load counts to: its container, else its service, its session, its program, itself
-- uses: named_containers, named_processes
-- filtered as: nothing
-- Who causes something is the group that holds most of it, never one process of a group that holds more. Processes of one
-- program are one group, whatever their titles (postgres: checkpointer); of several titles the group is called as the program.
-- Workers of the kernel are one group: what they write back, others made dirty.
-- column tgid: process, id
-- column group_key: distinguishes the groups, text
-- column level: container, service, session, program, process or kernel (its workers), text
-- column container: what the container, service or session is called; NULL in none, text
-- column container_id: its id, text
-- column comm: name of the process (named_processes), text
-- column program: the name of its first thread, text
SELECT
    n.tgid,
    CASE
        WHEN n.container_id IS NOT NULL THEN 'in ' || n.container_id
        WHEN n.program LIKE 'kworker/%' THEN 'kernel'
        WHEN n.program IS NOT NULL THEN 'of ' || n.program
        ELSE CAST(n.tgid AS VARCHAR)
    END AS group_key,
    CASE
        WHEN n.container_id IS NOT NULL THEN coalesce(c.level, 'container')
        WHEN n.program LIKE 'kworker/%' THEN 'kernel'
        WHEN n.program IS NOT NULL THEN 'program'
        ELSE 'process'
    END AS level,
    n.container,
    n.container_id,
    n.comm,
    n.program
FROM named_processes n
LEFT JOIN named_containers c ON c.id = n.container_id
