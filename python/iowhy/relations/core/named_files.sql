-- title: A file, once, whatever the recording says
-- uses: files
-- filtered as: nothing
-- kept: table
-- column dev: filesystem, id
-- column ino: inode, id
-- column path: path when first seen, text
-- column kind: file, directory, device, pipe, socket, anonymous or unknown, text
-- column size_bytes: size at the end, bytes
-- column deleted: was gone at the end, bool
WITH again AS (
    SELECT dev, ino FROM files GROUP BY dev, ino HAVING count(*) > 1
)
-- Most files are there once: to group the rows of all of them takes longer.
SELECT f.dev, f.ino, f.path, f.kind, f.size_bytes, f.deleted
FROM files f
LEFT JOIN again a ON a.dev = f.dev AND a.ino = f.ino
WHERE a.ino IS NULL
UNION ALL
SELECT
    f.dev,
    f.ino,
    max(f.path) AS path,
    max(f.kind) AS kind,
    max(f.size_bytes) AS size_bytes,
    min(f.deleted) AS deleted
FROM files f
JOIN again a ON a.dev = f.dev AND a.ino = f.ino
GROUP BY f.dev, f.ino
