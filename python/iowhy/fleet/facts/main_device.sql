-- title: The disk of a recording that had the most requests
-- column device: its model, and its kind: rotating or not, and its cache; unknown where the machine does not say, text
WITH used AS (
    SELECT dev, sum(requests) AS requests
    FROM request_sums
    GROUP BY dev
), placed AS (
    SELECT
        d.model,
        d.rotational,
        d.write_cache,
        row_number() OVER (ORDER BY u.requests DESC, u.dev) AS place
    FROM used u
    JOIN devices d ON d.dev = u.dev
)
SELECT
    coalesce(model || ', ', '')
        || CASE WHEN rotational THEN 'rotating' WHEN NOT rotational THEN 'not rotating' ELSE 'unknown' END
        || coalesce(', ' || write_cache, '') AS device
FROM placed
WHERE place = 1
