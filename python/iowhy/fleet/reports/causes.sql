-- title: Causes
-- question: Which cause costs how much time, on how many hosts, of which program, kernel and version?
-- reads: verdicts findings main_device main_service
-- about: cause service device elapsed_ns gain_ns kernel iowhy hosts share recordings
-- column cause: cause, text
-- column share: of the elapsed time of all these recordings, share
-- column elapsed_ns: elapsed time that it explains, ns
-- column thread_ns: time of threads that it explains; unknown where no threads were counted, ns
-- column gain_ns: of that, what its first remedy can save at most, ns
-- column median_share: of the elapsed time of a recording that shows it, the median of those, share
-- column hosts: machines on which it was found, count
-- column recordings: recordings in which it was found, count
-- column of_recordings: recordings of this service, kernel, device and version, count
-- column service: program that was watched; of a whole machine the container, service or program that was in uninterruptible sleep longest, text
-- column device: model of the disk that had the most requests, whether it rotates, and its cache, text
-- column kernel: release of the kernel, text
-- column iowhy: version that recorded, text
-- column worst: recording in which it explains the most time, text
-- The findings are those of each recording's own verdict, which counts no time twice; `healthy` is not a cause. The time of
-- threads is that of the classes that a finding is about, in the part that it explains of their elapsed time.
WITH each AS (
    SELECT r.fleet_no, r.recording, r.host, coalesce(r.command, s.service) AS service, r.kernel, d.device, r.iowhy, v.judged_ns
    FROM recordings r
    JOIN verdicts v ON v.fleet_no = r.fleet_no
    LEFT JOIN main_device d ON d.fleet_no = r.fleet_no
    LEFT JOIN main_service s ON s.fleet_no = r.fleet_no
), counted AS (
    SELECT service, kernel, device, iowhy, count(*) AS of_recordings, sum(judged_ns) AS judged_ns
    FROM each
    GROUP BY service, kernel, device, iowhy
), found AS (
    SELECT
        f.cause,
        r.service,
        r.kernel,
        r.device,
        r.iowhy,
        count(DISTINCT r.host) AS hosts,
        count(DISTINCT r.recording) AS recordings,
        sum(f.thread_ns) AS thread_ns,
        sum(f.elapsed_ns) AS elapsed_ns,
        sum(f.gain_ns) AS gain_ns,
        quantile_cont(f.share, 0.5) AS median_share,
        arg_max(r.recording, coalesce(f.elapsed_ns, 0)) AS worst
    FROM findings f
    JOIN each r ON r.fleet_no = f.fleet_no
    GROUP BY f.cause, r.service, r.kernel, r.device, r.iowhy
)
SELECT
    f.cause,
    f.elapsed_ns / nullif(c.judged_ns, 0) AS share,
    f.elapsed_ns,
    f.thread_ns,
    f.gain_ns,
    f.median_share,
    f.hosts,
    f.recordings,
    c.of_recordings,
    f.service,
    f.device,
    f.kernel,
    f.iowhy,
    f.worst
FROM found f
JOIN counted c ON c.service IS NOT DISTINCT FROM f.service
    AND c.kernel IS NOT DISTINCT FROM f.kernel
    AND c.device IS NOT DISTINCT FROM f.device
    AND c.iowhy IS NOT DISTINCT FROM f.iowhy
ORDER BY f.elapsed_ns DESC NULLS LAST, f.cause, f.service, f.kernel, f.device, f.iowhy
