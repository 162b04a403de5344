-- title: What was asked of files: a call, or an operation of io_uring or libaio
-- Pipes and sockets are left out, and devices that store nothing.
-- column ts_ns: when it began, ns
-- column name: call or operation, text
-- column kind: read, write, copy, sync or another kind of call, text
-- column ret: what it returned or moved, number
-- column bytes: bytes that it asked for, bytes
WITH kinds AS (
    SELECT
        dev,
        ino,
        -- These devices store nothing.
        max(CASE WHEN path IN ('/dev/zero', '/dev/null', '/dev/full', '/dev/random', '/dev/urandom',
            '/dev/tty') OR path LIKE '/dev/pts/%' THEN 'pipe' ELSE kind END) AS kind
    FROM files
    GROUP BY dev, ino
)
SELECT s.ts_ns, s.name, k.kind, s.ret, s.bytes
FROM syscalls s
JOIN call_kinds k ON k.name = s.name
LEFT JOIN kinds f ON f.dev = s.dev AND f.ino = s.ino
WHERE f.kind IS NULL OR f.kind NOT IN ('pipe', 'socket', 'anonymous')
UNION ALL
SELECT a.submit_ns, a.op, a.kind, coalesce(a.moved_bytes, a.ret), a.bytes
FROM async_operations a
LEFT JOIN kinds f ON f.dev = a.dev AND f.ino = a.ino
WHERE a.kind <> 'other' AND (f.kind IS NULL OR f.kind NOT IN ('pipe', 'socket', 'anonymous'))
