"""What benchmarks, containers, mounts and processes show in their own figures."""

from collections.abc import Iterator, Mapping

from iowhy.sentences import worded
from iowhy.units import duration, percent, rate, size
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import WRONG, Statement

#: From this share of its limit on, a container has no memory left for the page cache.
FULL = 0.9
#: From this share of its time on, a process waits for I/O more than it does anything else.
MOSTLY = 0.5
#: Less of its time is not worth a sentence.
WAITS = 0.1
#: A call to a server that takes longer waits for more than a network and a cache.
SERVER_SLOW_NS = 50e6
#: What a disk that turns writes in order; a direct write below it is slow.
SLOW_BYTES_PER_S = 20e6
#: etcd's own limits (docs: metrics): the 99th percentile of a WAL sync, and of a commit of its backend.
ETCD = {"wal_fsync": 10e6, "backend_commit": 25e6}


def state(facts: Facts) -> Iterator[Statement]:
    """One statement for each kind that there is."""
    for stated in (
        _containers,
        _moved,
        _mounts,
        _processes,
        _dd,
        _timed,
        _sysbench,
        _etcd,
        _disks,
        _pressure,
    ):
        yield from stated(facts)


def _containers(facts: Facts) -> Iterator[Statement]:
    used, limits = (
        facts.measured.metric("memory_bytes"),
        facts.measured.metric("memory_limit_bytes"),
    )
    read = facts.measured.of("docker stats", "since_start_read_bytes")
    for name, share in facts.measured.metric("container_cpu_share").items():
        if share >= 1.0:
            said = worded(
                "container-cpus",
                "container {container} uses {cpus:.1f} CPUs",
                container=name,
                cpus=share,
            )
            yield Statement(0.4, link(said, share, "CPUs", "measurements"))
    shares = {name: used.get(name, 0.0) / limit for name, limit in limits.items() if limit}
    shares |= facts.measured.metric("memory_peak_share")
    fullest = max(shares, key=shares.__getitem__, default="")
    if fullest and shares[fullest] < FULL:
        said = worded(
            "containers-rest",
            "{which} at {share:share} of its memory limit: memory is not it",
            which=f"container {fullest} is"
            if len(shares) == 1
            else f"the fullest container, {fullest}, is",
            share=shares[fullest],
        )
        yield Statement(0.1, link(said, shares[fullest], "share", "measurements"))
    for name, share in shares.items():
        if share >= FULL:
            since = f", and has read {size(read[name])}" if read.get(name) else ""
            template = "container {container} is at {share:share} of its memory limit{since}"
            said = worded(
                "container-memory",
                template,
                container=name,
                share=share,
                since=since,
                read=read.get(name),
            )
            yield Statement(0.7, link(said, share, "share", "measurements"))


def _mounts(facts: Facts) -> Iterator[Statement]:
    sides = {
        side: facts.measured.of("nfsiostat", f"{side}_exe_mean_ns") for side in ("read", "write")
    }
    rates = {side: facts.measured.of("nfsiostat", f"{side}_ops_per_s") for side in sides}
    for mount in sorted({*sides["read"], *sides["write"]}):
        parts = [
            f"a {side} takes {duration(times[mount])}"
            + (f" ({rates[side][mount]:.3g} a second)" if mount in rates[side] else "")
            for side, times in sides.items()
            if times.get(mount) and rates[side].get(mount, 1)
        ]
        worst = max(times.get(mount, 0.0) for times in sides.values())
        if parts:
            grave = 0.75 if worst >= SERVER_SLOW_NS else 0.3
            yield Statement(
                grave, link(f"{mount}: {', '.join(parts)}", worst, "ns", "measurements")
            )


_MOVED = """
SELECT coalesce(max(t.comm), CAST(p.tgid AS VARCHAR)) || ' (' || p.tgid || ')' AS name,
  (max(p.read_bytes) - min(p.read_bytes)) * 1e9 / (max(p.ts_ns) - min(p.ts_ns)) AS read_per_s,
  (max(p.written_bytes) - min(p.written_bytes)) * 1e9 / (max(p.ts_ns) - min(p.ts_ns)) AS written_per_s
FROM process_io p LEFT JOIN threads t ON t.tid = p.tgid
GROUP BY p.tgid HAVING max(p.ts_ns) > min(p.ts_ns) ORDER BY coalesce(read_per_s, 0) + coalesce(written_per_s, 0) DESC LIMIT 1
"""


def _moved(facts: Facts) -> Iterator[Statement]:
    """The totals of iotop, and what a process moved since iotop began (-a)."""
    for way, words in (("written", "wrote"), ("read", "read")):
        since = facts.measured.of("iotop", f"since_start_{way}_bytes")
        most = max(since, key=since.__getitem__, default=None)
        if most is not None and since[most]:
            said = f"{most} {words} {size(since[most])} since iotop began"
            yield Statement(0.2, link(said, since[most], "bytes", "measurements"))
    rates = [
        facts.measured.of("iotop", f"asked_{way}_bytes_per_s").get("all")
        for way in ("read", "written")
    ]
    if None not in rates and any(rates):
        said = (
            f"all processes together read {rate(rates[0] or 0.0)} and write {rate(rates[1] or 0.0)}"
        )
        yield Statement(
            0.15, link(said, max(one or 0.0 for one in rates), "bytes/s", "measurements")
        )


def _processes(facts: Facts) -> Iterator[Statement]:
    used = facts.measured.of("top", "cpu_share")
    most = max(used, key=used.__getitem__, default=None)
    if most is not None and used[most] >= MOSTLY:
        said = worded(
            "process-cpus", "{process} uses {cpus:.1f} CPUs", process=most, cpus=used[most]
        )
        yield Statement(0.12, link(said, used[most], "CPUs", "measurements"))
    waiting = facts.measured.metric("io_delay_share")
    worst = max(waiting, key=waiting.__getitem__, default=None)
    if worst is not None and waiting[worst] >= WAITS:
        said = worded(
            "process-waits",
            "{process} waits for I/O {share:share} of its time",
            process=worst,
            share=waiting[worst],
        )
        grave = 0.7 if waiting[worst] >= MOSTLY else 0.35
        yield Statement(grave, link(said, waiting[worst], "share", "measurements"))
    if not facts.relations.has("process_io"):
        return
    for name, reads, writes in facts.relations.rows(_MOVED):
        read, written = reads or 0.0, writes or 0.0
        if read + written > 0:
            template = "{process} moves most: it reads {read:rate} and writes {written:rate}"
            said = worded("process-moves-most", template, process=name, read=read, written=written)
            yield Statement(0.3, link(said, read + written, "bytes/s", "system"))


def _dd(facts: Facts) -> Iterator[Statement]:
    blocks = facts.measured.of("dd", "block_bytes")
    for run, speed in facts.measured.of("dd", "bytes_per_s").items():
        direct = bool(facts.measured.of("dd", "direct"))
        each = f" in blocks of {size(blocks[run])}" if run in blocks else ""
        how = "moves data directly or with a sync" if direct else "moves data"
        grave = WRONG if direct and speed < SLOW_BYTES_PER_S else 0.3
        yield Statement(
            grave, link(f"{run} {how}{each} at {rate(speed)}", speed, "bytes/s", "measurements")
        )


def _timed(facts: Facts) -> Iterator[Statement]:
    """How much of its time a command that was timed was on CPUs."""
    for name, took in facts.measured.of("time", "elapsed_ns").items():
        cpu = sum(
            facts.measured.of("time", metric).get(name, 0.0) for metric in ("user_ns", "kernel_ns")
        )
        share = cpu / took if took else 0.0
        template = "{command} took {took:ns}: {cpu:ns} on CPUs" + (
            "; it waited the rest ({share:share})" if share < 1 else ", more than one at a time"
        )
        said = worded(
            "timed", template, command=name, took=took, cpu=cpu, share=max(0.0, 1 - share)
        )
        yield Statement(0.25, link(said, took, "ns", "measurements"))


def _sysbench(facts: Facts) -> Iterator[Statement]:
    values = {
        n.metric: n.value
        for n in facts.measured.numbers
        if n.tool == "sysbench" and n.subject == "sysbench"
    }
    parts = _parts(values, {"read_bytes_per_s": "reads {}", "written_bytes_per_s": "writes {}"})
    if parts:
        parts[-1] += ", at random" if "random" in values else ""
        speed = values.get("read_bytes_per_s", 0.0) + values.get("written_bytes_per_s", 0.0)
        yield Statement(
            0.3, link(f"sysbench {' and '.join(parts)}", speed, "bytes/s", "measurements")
        )


def _parts(values: Mapping[str, float], words: Mapping[str, str]) -> list[str]:
    return [text.format(rate(values[name])) for name, text in words.items() if name in values]


def _etcd(facts: Facts) -> Iterator[Statement]:
    for number in facts.measured.numbers:
        wanted = next((ns for word, ns in ETCD.items() if word in number.subject), None)
        if wanted is None or number.metric != "p99_below_ns":
            continue
        said = f"{number.subject}: the 99th percentile is below {duration(number.value)} (it should be below {duration(wanted)})"
        yield Statement(
            0.75 if number.value > wanted else 0.15, link(said, number.value, "ns", "measurements")
        )


def _disks(facts: Facts) -> Iterator[Statement]:
    for metric, words in (
        ("missing_members", "lacks {} of its members"),
        ("pending_sectors", "has {} sector{s} that it cannot read"),
        ("media_errors", "has {} error{s} of its medium"),
        ("failed_requests", "has {} request{s} that failed"),
        ("corrupt_blocks", "has {} block{s} with a wrong checksum"),
        ("io_errors", "has {} I/O error{s} in the kernel's log"),
        ("command_timeouts", "has {} timed out command{s} in the kernel's log"),
        ("command_failures", "has {} failed command{s} in the kernel's log"),
        ("link_resets", "has {} link reset{s} in the kernel's log"),
        ("filesystem_errors", "has {} filesystem error{s} in the kernel's log"),
        ("server_timeouts", "did not respond {} time{s}, by the kernel's log"),
        ("failed_paths", "has {} failed path{s}: check cable, port and target"),
        ("lost_paths", "has {} request{s} without a usable path in the kernel's log"),
    ):
        for name, value in sorted(facts.measured.metric(metric).items(), key=lambda one: -one[1]):
            if value > 0:
                said = f"{name} {words.format(f'{value:,.0f}', s='' if value == 1 else 's')}"
                yield Statement(0.9, link(said, value, "times", "measurements"))


def _pressure(facts: Facts) -> Iterator[Statement]:
    found = facts.measured.metric("full_stalled_10s_share") | facts.measured.metric(
        "some_stalled_10s_share"
    )
    worst = max(found, key=found.__getitem__, default=None)
    if worst is not None and found[worst] > 0:
        said = f"threads stalled on {worst} {percent(found[worst])} of the last 10 s"
        yield Statement(
            0.7 if found[worst] >= 0.1 else 0.2, link(said, found[worst], "share", "measurements")
        )
