-- title: A file whose calls take nothing from storage, as it has no place there
-- uses: filesystems, named_files
-- Pipes, sockets, devices that store nothing, and files that the kernel makes up or holds in memory alone.
-- filtered as: nothing
-- kept: table
-- column dev: filesystem, id
-- column ino: inode, id
-- column peer: who waits in a call on it waits for others, or for time: a pipe, socket or terminal, bool
SELECT
    f.dev,
    f.ino,
    f.kind IN ('pipe', 'socket', 'anonymous') OR f.path LIKE '/dev/tty%' OR f.path LIKE '/dev/pts/%' AS peer
FROM named_files f
LEFT JOIN (
    SELECT DISTINCT dev FROM filesystems
    WHERE kind IN ('proc', 'sysfs', 'cgroup', 'cgroup2', 'debugfs', 'tracefs', 'tmpfs', 'ramfs', 'devtmpfs')
) AS m ON m.dev = f.dev
WHERE
    f.kind IN ('pipe', 'socket', 'anonymous')
    OR f.path IN ('/dev/zero', '/dev/null', '/dev/full', '/dev/random', '/dev/urandom')
    OR f.path LIKE '/dev/tty%'
    OR f.path LIKE '/dev/pts/%'
    OR (f.kind <> 'device' AND m.dev IS NOT NULL)
