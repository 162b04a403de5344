-- title: One container, or unit of systemd, by what it is called
-- uses: containers
-- filtered as: nothing
-- NAMESPACE/POD/NAME if it is in a pod, else its name, its id if it has none. Two with the same name are distinguished
-- by their ids: a container is its id, whatever its name.
-- column id: its id, text
-- column container: what it is called, text
-- column workload: the same without its pod, whose name changes from start to start, text
-- column pod: its pod, as NAMESPACE/NAME where the namespace is known; NULL in none, text
-- column image: image that it was made from, text
-- column level: container, service or session, text
WITH known AS (
    SELECT
        id,
        max(name) AS name,
        max(image) AS image,
        max(pod_namespace) AS namespace,
        CASE WHEN max(pod) IS NOT NULL THEN concat_ws('/', max(pod_namespace), max(pod)) END AS pod,
        CASE
            WHEN max(runtime) = 'systemd' AND id LIKE '%.scope' THEN 'session'
            WHEN max(runtime) = 'systemd' THEN 'service'
            ELSE 'container'
        END AS level
    FROM containers
    GROUP BY id
), called AS (
    SELECT *, concat_ws('/', pod, coalesce(name, id)) AS label FROM known
)
SELECT
    id,
    CASE WHEN count(*) OVER (PARTITION BY label) > 1 THEN label || ' (' || substr(id, 1, 12) || ')' ELSE label END
        AS container,
    concat_ws('/', namespace, coalesce(name, id)) AS workload,
    pod,
    image,
    level
FROM called
