-- title: extents of the most fragmented file
-- unit: count
-- sensor: extents
-- classes: sync, write, read
-- state: where the filesystem had free space
SELECT max(extents) FROM file_layout WHERE latest AND bytes > 0
-- by file
SELECT dev, ino, extents AS value FROM file_layout WHERE latest AND bytes > 0
