-- title: A filesystem that a process in user space (FUSE) or a server serves, and no disk of this machine
-- uses: filesystems
-- filtered as: nothing
-- A filesystem that nodes of a cluster share has a disk here (gfs2, ocfs2), and is none. That of virtiofs is served by the host.
-- column dev: the filesystem, id
-- column mount: mount point, text
-- column kind: fuse, fuseblk, fuse.NAME, nfs4, cifs, …, text
-- column served_by: process or server, text
-- column daemon_tgid: process that serves it; NULL if not known, id
-- column daemon_cpu_ns: CPU time of that process and those that it started; NULL if not known, ns
-- column daemon_peer: to whom these have most connections, text
-- column unanswered_ns: how long the recorder waited for an answer that did not come; NULL where it came, or was not asked for, ns
SELECT
    dev,
    min(mount) AS mount,
    min(kind) AS kind,
    min(CASE WHEN kind IN ('fuse', 'fuseblk') OR kind LIKE 'fuse.%' THEN 'process' ELSE 'server' END) AS served_by,
    max(daemon_tgid) AS daemon_tgid,
    max(daemon_cpu_ns) AS daemon_cpu_ns,
    max(daemon_peer) AS daemon_peer,
    max(unanswered_ns) AS unanswered_ns
FROM filesystems
WHERE kind IN ('fuse', 'fuseblk') OR kind LIKE 'fuse.%'
    OR kind IN ('nfs', 'nfs4', 'cifs', 'smb3', 'ceph', '9p', 'virtiofs', 'afs', 'lustre', 'orangefs', 'coda')
GROUP BY dev
