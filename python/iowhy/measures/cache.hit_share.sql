-- title: pages found in the cache
-- unit: share
-- sensor: lookups
-- classes: read
SELECT CAST(sum(hit_pages) AS DOUBLE) / nullif(sum(hit_of_pages), 0) FROM file_cache
