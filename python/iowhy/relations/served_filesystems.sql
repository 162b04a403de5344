-- title: A filesystem that a process in user space serves (FUSE)
-- filtered as: nothing
-- column dev: the filesystem, id
-- column mount: mount point, text
-- column kind: fuse, fuseblk or fuse.NAME, text
-- column daemon_tgid: process that serves it; NULL where that is not known, id
SELECT dev, min(mount) AS mount, min(kind) AS kind, max(daemon_tgid) AS daemon_tgid
FROM main.filesystems
WHERE kind IN ('fuse', 'fuseblk') OR kind LIKE 'fuse.%'
GROUP BY dev
