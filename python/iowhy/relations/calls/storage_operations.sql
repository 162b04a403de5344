-- title: What was asked of files that have a place on storage: a call, or an operation of io_uring or libaio
-- uses: call_kinds, nonstorage_files, file_operations
-- column ts_ns: when it began, ns
-- column name: call or operation, text
-- column kind: read, write, copy, sync or another kind of call, text
-- column ret: what it returned or moved, number
-- column bytes: bytes that it asked for, bytes
SELECT s.ts_ns, s.name, k.kind, s.ret, s.bytes
FROM file_operations s
JOIN call_kinds k ON k.name = s.name
LEFT JOIN nonstorage_files p ON p.dev = s.dev AND p.ino = s.ino
WHERE p.dev IS NULL
