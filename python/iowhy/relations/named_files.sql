-- title: A file, once, whatever the recording says
-- filtered as: nothing
-- kept: table
-- column dev: filesystem, id
-- column ino: inode, id
-- column path: path when first seen, text
-- column kind: file, directory, device, pipe, socket, anonymous or unknown, text
-- column size_bytes: size at the end, bytes
-- column deleted: was gone at the end, bool
SELECT
    dev,
    ino,
    max(path) AS path,
    max(kind) AS kind,
    max(size_bytes) AS size_bytes,
    min(deleted) AS deleted
FROM main.files
GROUP BY dev, ino
