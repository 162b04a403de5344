-- title: Bytes that were read and written on one file, by the call or asynchronous operation that did it
-- uses: call_kinds, calls_by_file
-- column name: system call; io_uring or libaio and its operation, text
-- column kind: read or write, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column file_kind: kind of the file; file if not known, text
-- column asked_bytes: bytes that were asked for, bytes
-- column bytes: bytes that were moved, bytes
SELECT s.name, k.kind, s.dev, s.ino, s.file_kind, s.asked_bytes, s.done_bytes AS bytes
FROM calls_by_file s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind IN ('read', 'write')
