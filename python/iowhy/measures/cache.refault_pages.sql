-- title: pages read again after eviction
-- unit: count
-- sensor: page_cache
-- state: what memory held of the files before
-- classes: read
SELECT sum(refault_pages) FROM file_cache
-- by file
SELECT dev, ino, refault_pages AS value FROM file_cache
