-- title: Callers, by sampled stacks
-- question: Whose code makes the calls, waits and computes: which path of functions, for how long?
-- stands in for: perf report --children, offcputime, profile, strace -k
-- about: own_path time_ns samples read_ns sync_ns user_ns
-- column path: functions, the innermost first, each called by the next; also `not sampled`, and `stack not read`, text
-- column own_path: of these the innermost and the program's own, without libraries and an interpreter, text
-- column object: of a database's files, the table, index or log that most of its samples are on, text
-- column calls: calls made by it, as far as samples say, count
-- column transferred_bytes: bytes that these moved, as far as samples say, bytes
-- column time_ns: time of all threads but idle sleep, ns
-- column user_ns: on a CPU outside the kernel, ns
-- column kernel_ns: on a CPU in the kernel, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column read_ns: waiting to read, ns
-- column write_ns: waiting to write, ns
-- column sync_ns: waiting for sync, ns
-- column throttled_ns: throttled, ns
-- column lock_ns: waiting for a lock of the kernel, ns
-- column memory_ns: waiting for memory, ns
-- column unexplained_ns: unexplained, ns
-- column idle_ns: idle, ns
-- column recorder_ns: what the recorder took, ns
-- column samples: stacks that were taken of it, count
-- Each class of the budget is divided among the stacks that were sampled in it, in proportion to the time that they represent
-- (docs/budget.md); without filters each column adds up to its class, with what was not sampled. The paths of one file
-- (--file '*.db') are those of calls on it, and of faults on its pages if it is mapped (Linux 6.12 and later): what the kernel does
-- for them and what they wait for, no time outside the kernel. Numbers of calls and bytes are estimates from samples; `report syscalls`
-- has them all.
WITH spread AS (
    SELECT
        t.path,
        sum(CASE WHEN t.class = 'user' THEN t.class_ns ELSE 0 END) AS user_ns,
        sum(CASE WHEN t.class = 'kernel' THEN t.class_ns ELSE 0 END) AS kernel_ns,
        sum(CASE WHEN t.class = 'runnable' THEN t.class_ns ELSE 0 END) AS runnable_ns,
        sum(CASE WHEN t.class = 'read' THEN t.class_ns ELSE 0 END) AS read_ns,
        sum(CASE WHEN t.class = 'write' THEN t.class_ns ELSE 0 END) AS write_ns,
        sum(CASE WHEN t.class = 'sync' THEN t.class_ns ELSE 0 END) AS sync_ns,
        sum(CASE WHEN t.class = 'throttled' THEN t.class_ns ELSE 0 END) AS throttled_ns,
        sum(CASE WHEN t.class = 'lock' THEN t.class_ns ELSE 0 END) AS lock_ns,
        sum(CASE WHEN t.class = 'memory' THEN t.class_ns ELSE 0 END) AS memory_ns,
        sum(CASE WHEN t.class = 'unexplained' THEN t.class_ns ELSE 0 END) AS unexplained_ns,
        sum(CASE WHEN t.class = 'idle' THEN t.class_ns ELSE 0 END) AS idle_ns,
        sum(CASE WHEN t.class = 'recorder' THEN t.class_ns ELSE 0 END) AS recorder_ns,
        sum(CASE WHEN t.class <> 'idle' THEN t.class_ns ELSE 0 END) AS time_ns
    FROM path_times t
    GROUP BY t.path
), called AS (
    SELECT
        coalesce(p.path, 'stack not read') AS path,
        sum(s.calls) AS calls,
        sum(s.transferred_bytes) AS transferred_bytes,
        count(*) AS samples
    FROM stack_samples s
    LEFT JOIN user_paths p ON p.user_stack_id = s.user_stack_id
    GROUP BY 1
), on_objects AS (
    SELECT p.path, o.object, count(*) AS samples
    FROM database_objects o
    JOIN named_files f ON f.path = o.path
    JOIN stack_samples s ON s.dev = f.dev AND s.ino = f.ino
    JOIN user_paths p ON p.user_stack_id = s.user_stack_id
    GROUP BY p.path, o.object
), mostly AS (
    SELECT path, max_by(object, samples) AS object FROM on_objects GROUP BY path
), paths AS (
    SELECT path FROM spread UNION SELECT path FROM called
), own AS (
    SELECT path, max(own_path) AS own_path FROM user_paths GROUP BY path
)
SELECT
    p.path,
    coalesce(o.own_path, p.path) AS own_path,
    m.object,
    CAST(c.calls AS BIGINT) AS calls,
    CAST(c.transferred_bytes AS BIGINT) AS transferred_bytes,
    CAST(coalesce(t.time_ns, 0) AS BIGINT) AS time_ns,
    CAST(coalesce(t.user_ns, 0) AS BIGINT) AS user_ns,
    CAST(coalesce(t.kernel_ns, 0) AS BIGINT) AS kernel_ns,
    CAST(coalesce(t.runnable_ns, 0) AS BIGINT) AS runnable_ns,
    CAST(coalesce(t.read_ns, 0) AS BIGINT) AS read_ns,
    CAST(coalesce(t.write_ns, 0) AS BIGINT) AS write_ns,
    CAST(coalesce(t.sync_ns, 0) AS BIGINT) AS sync_ns,
    CAST(coalesce(t.throttled_ns, 0) AS BIGINT) AS throttled_ns,
    CAST(coalesce(t.lock_ns, 0) AS BIGINT) AS lock_ns,
    CAST(coalesce(t.memory_ns, 0) AS BIGINT) AS memory_ns,
    CAST(coalesce(t.unexplained_ns, 0) AS BIGINT) AS unexplained_ns,
    CAST(coalesce(t.idle_ns, 0) AS BIGINT) AS idle_ns,
    CAST(coalesce(t.recorder_ns, 0) AS BIGINT) AS recorder_ns,
    coalesce(c.samples, 0) AS samples
FROM paths p
LEFT JOIN spread t ON t.path = p.path
LEFT JOIN called c ON c.path = p.path
LEFT JOIN own o ON o.path = p.path
LEFT JOIN mostly m ON m.path = p.path
ORDER BY CASE WHEN p.path = 'not sampled' THEN 1 ELSE 0 END, time_ns DESC, samples DESC, p.path
