-- title: What was asked of files: a call, or an operation of io_uring or libaio
-- uses: async_operations, call_kinds, nonstorage_files, syscalls
-- Files without a place on storage (nonstorage_files) are left out.
-- column ts_ns: when it began, ns
-- column name: call or operation, text
-- column kind: read, write, copy, sync or another kind of call, text
-- column ret: what it returned or moved, number
-- column bytes: bytes that it asked for, bytes
SELECT s.ts_ns, s.name, k.kind, s.ret, s.bytes
FROM syscalls s
JOIN call_kinds k ON k.name = s.name
LEFT JOIN nonstorage_files p ON p.dev = s.dev AND p.ino = s.ino
WHERE p.dev IS NULL
UNION ALL
SELECT a.submit_ns, a.op, a.kind, coalesce(a.moved_bytes, a.ret), a.bytes
FROM async_operations a
LEFT JOIN nonstorage_files p ON p.dev = a.dev AND p.ino = a.ino
WHERE a.kind <> 'other' AND p.dev IS NULL
