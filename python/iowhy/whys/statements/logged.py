"""What logs and small tools report of storage: devices that are gone, syncs that took long, what a benchmark of syncs shows."""

from collections.abc import Iterator

from iowhy.units import duration, percent, plural, rate, size
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.program import for_logged
from iowhy.whys.stated_fact import Statement

#: Flash with a power-safe cache syncs in less than a millisecond; a disk that turns takes half a turn or more.
SLOW_SYNC_NS = 4e6
#: Disks of one kind differ less: by where on them is read, and by other work.
UNEQUAL = 0.6
#: Checkpoints are meant to come by time: of so many and more, this share by request is more than backups and restarts explain.
OFTEN = 0.5
OFTEN_LEAST = 5
#: A page of PostgreSQL, and how long one takes to be copied from the page cache, with all that a query does with it.
BLOCK_BYTES = 8192
QUICK_NS = 1e5
#: Filesystems look for room for longer when so much of them is used, and root's 5 % of ext4 are none for others.
FULL, FULL_SHOWN = 0.95, 3
#: A request of a disk that is alone there takes 10 ms at most, a server's 50.
SLOW_NS = 50e6
#: Tools with one number that matters: tool, metric, sentence, from which value it is wrong (None: never).
_TOOLS: tuple[tuple[str, str, str, float | None], ...] = (
    ("ioping", "request_mean_ns", "a request to {} takes {}", 10e6),
    ("esxtop", "device_mean_ns", "a command to {} takes {} on the device", 20e6),
    ("esxtop", "hypervisor_mean_ns", "a command to {} waits {} in the hypervisor", 2e6),
    ("ceph -s", "oldest_blocked_ns", "{} shows slow operations, the oldest one blocked for {}", 0.0),
    ("ceph -s", "slow_osds", "{} shows {} OSDs with slow operations", 0.0),
    ("ceph -s", "commit_ns", "{} takes {} for a commit", 100e6),
    ("ceph -s", "used_share", "{} is {} full: Ceph stops writes to a pool at 95 % of its fullest OSD", 0.85),
    ("lvs", "data_used_share", "the data of the thin pool {} is {} full", 0.9),
    ("lvs", "metadata_used_share", "the metadata of the thin pool {} is {} full", 0.9),
    ("nfsstat", "sent_again_share", "{} sent {} of its calls again: the network or the server loses or delays them", 0.01),
    ("pt-query-digest", "reading_share", "{} reads from storage in {} of its time", 0.5),
    ("pt-query-digest", "of_all_share", "{} takes {} of all statements' time", None),
    ("hot_threads", "cpu_share", "the thread {} computes in {} of the time", None),
    ("htop", "busy_share", "the {} are {} busy", None),
    ("mongostat", "cache_dirty_share", "the cache of {} is {} dirty", 0.2),
    ("zpool status", "degraded", "pool {} is degraded", 0.0),
    ("zpool status", "checksum_errors", "{} has {} checksum errors", 0.0),
)  # fmt: skip
#: What sessions wait for, by the metric.
_WAITS = {
    "commit_sessions": "for commits to be synced to the log",
    "temporary_file_sessions": "for temporary files: what they sort or join does not fit in their memory",
    "reading_sessions": "to read what is not in the buffers",
    "writing_sessions": "to write data",
    "lock_sessions": "for locks that other sessions hold",
}
_UNITS = {"ns": ("ns", duration), "share": ("share", percent), "s": ("bytes/s", rate)}


def state(facts: Facts) -> Iterator[Statement]:
    """One statement for each kind that there is."""
    for stated in (
        _gone,
        _full,
        _killed,
        _servers,
        _sessions,
        _checkpoints,
        _syncs,
        _innodb,
        _plan,
        _in_order,
        _tools,
        _clean,
    ):
        yield from stated(facts)


def _gone(facts: Facts) -> Iterator[Statement]:
    for metric, words in (("gone", "is down or gone"), ("command_timeouts", "does not answer")):
        for device, times in facts.measured.of("dmesg", metric).items():
            said = f"the device {device} {words}, by the kernel's log ({plural(times, 'message')}): check its hardware first"
            yield Statement(1.0, link(said, times, "times", "measurements"))


def _full(facts: Facts) -> Iterator[Statement]:
    """df: filesystems without room, by bytes or inodes; else the fullest."""
    used = facts.measured.of("df", "used_share") | {
        f"{mount} (inodes)": share
        for mount, share in facts.measured.of("df", "inodes_used_share").items()
    }
    order = sorted(used, key=used.__getitem__, reverse=True)
    for mount in [one for one in order if used[one] >= FULL][:FULL_SHOWN] or order[:1]:
        free = facts.measured.of("df", "free_bytes").get(mount)
        left = "" if free is None else f", {size(free)} free"
        said = f"{mount} is {percent(used[mount])} full{left}"
        grave = 0.8 if used[mount] >= FULL else 0.1
        yield Statement(grave, link(said, used[mount], "share", "measurements"))


def _killed(facts: Facts) -> Iterator[Statement]:
    """What the kernel's log says of memory that ran out."""
    for who, times in facts.measured.of("dmesg", "out_of_memory").items():
        said = f"the kernel ran out of memory: {who} needed some, and a process had to end ({_often(times)})"
        yield Statement(0.97, link(said, times, "times", "measurements"))


def _often(times: float) -> str:
    return "once" if times == 1 else plural(times, "time")


def _servers(facts: Facts) -> Iterator[Statement]:
    """The longest of each server's log, and how often."""
    found = [n for n in facts.measured.numbers if n.tool == "server log"]
    for one in found:
        if not one.metric.endswith("_count"):
            continue
        name = one.metric.removesuffix("_count")
        more = {
            n.metric.removeprefix(name): n.value
            for n in found
            if n.subject == one.subject and n.metric.startswith(name)
        }
        words = name.replace("_", " ").strip()
        ns = more.get("_ns", more.get("_least_ns"))
        if ns is not None:
            bound = "over " if "_least_ns" in more else "up to " if one.value > 1 else ""
            words += f" took {bound}{duration(ns)}"
        elif (apart := more.get("_apart_ns")) is not None:
            words += f", {duration(apart)} apart"
        elif (bytes_ := more.get("_bytes")) is not None:
            words += f" of {size(bytes_)}"
        elif (share := more.get("_share")) is not None:
            words += f": {percent(share)}"
        span = more.get("_span_s")
        within = "" if span is None else f" in {duration(span * 1e9)}"
        said = f"{one.subject} reports: {words}, {_often(one.value)}{within}"
        grave = 0.75 if ns is None or ns >= SLOW_NS else 0.3
        # Of two that are as grave, the one that says what to do.
        helps = _setting(one.subject, name.replace("_", " ").strip())
        said += helps
        grave += 0.01 if helps else 0.0
        unit = "times" if ns is None else "ns"
        yield Statement(grave, link(said, ns or one.value, unit, "measurements"))


def _setting(program: str, what: str) -> str:
    """The end of a sentence: the setting that helps against what a log says; empty if none is known."""
    helps = for_logged(program, what)
    return "" if helps is None else f". {helps.do} (risk: {helps.risk})"


def _sessions(facts: Facts) -> Iterator[Statement]:
    """What most sessions of a database wait for, of those that are at work."""
    numbers = [one for one in facts.measured.numbers if one.tool == "sessions"]
    for whole in (one for one in numbers if one.metric == "at_work_sessions"):
        waits = [one for one in numbers if one.subject == whole.subject and one.metric in _WAITS]
        most = max(waits, key=lambda one: one.value, default=None)
        if most is None:
            continue
        said = (
            f"{most.value:,.0f} of {plural(whole.value, 'session')} of {whole.subject} at work wait"
            f"{'s' if most.value == 1 else ''} {_WAITS[most.metric]}"
        )
        grave = 0.7 if 2 * most.value >= whole.value else 0.3
        yield Statement(grave, link(said, most.value, "sessions", "measurements"))


def _checkpoints(facts: Facts) -> Iterator[Statement]:
    """PostgreSQL's, by what began them."""
    found = {n.metric: n.value for n in facts.measured.numbers if n.tool == "pg_stat_bgwriter"}
    requested = found.get("checkpoints_requested", 0.0)
    every = requested + found.get("checkpoints_timed", 0.0)
    if every:
        share = requested / every
        said = f"{percent(share)} of PostgreSQL's {plural(every, 'checkpoint')} were requested"
        often = share >= OFTEN and requested >= OFTEN_LEAST
        said += _setting("PostgreSQL", "checkpoints that come too often") if often else ""
        yield Statement(0.7 if often else 0.2, link(said, share, "share", "measurements"))


def _syncs(facts: Facts) -> Iterator[Statement]:
    times = facts.measured.of("pg_test_fsync", "sync_mean_ns")
    way = "fdatasync" if "fdatasync" in times else next(iter(times), None)
    if way is not None:
        slow = times[way] >= SLOW_SYNC_NS
        why = ": a disk that turns, or flushes through a slow cache" if slow else ""
        said = f"a sync ({way}) takes {duration(times[way])}{why}"
        yield Statement(0.7 if slow else 0.2, link(said, times[way], "ns", "measurements"))


def _plan(facts: Facts) -> Iterator[Statement]:
    plan = {n.metric: n.value for n in facts.measured.numbers if n.tool == "explain"}
    read, took = plan.get("read_bytes"), plan.get("execution_ns")
    if read and took:
        reading = plan.get("reading_ns")
        share = 0.0 if reading is None else min(1.0, reading / took)
        each = took / max(1.0, read / BLOCK_BYTES)
        of = (
            f" in {duration(took)}"
            + (f": at most {duration(each)} for each page" if each >= QUICK_NS else "")
            if reading is None
            else f", which takes {percent(share)} of its {duration(took)}"
        )
        said = f"the query reads {size(read)} from outside of PostgreSQL's buffers{of}"
        yield Statement(0.7 if share >= 0.5 else 0.3, link(said, read, "bytes", "measurements"))
    elif took and (reading := plan.get("reading_ns")):
        share = min(1.0, reading / took)
        said = f"reading takes {percent(share)} of the query's {duration(took)}"
        yield Statement(0.7 if share >= 0.5 else 0.3, link(said, share, "share", "measurements"))


def _in_order(facts: Facts) -> Iterator[Statement]:
    """hdparm: the slowest disk, next to the quickest one."""
    speeds = facts.measured.of("hdparm", "read_directly_bytes_per_s")
    speeds = speeds or facts.measured.of("hdparm", "read_in_order_bytes_per_s")
    if not speeds:
        return
    least, most = min(speeds, key=speeds.__getitem__), max(speeds, key=speeds.__getitem__)
    said = f"{least} is read in order at {rate(speeds[least])}"
    said += f", {most} at {rate(speeds[most])}" if least != most else ""
    far = speeds[least] < UNEQUAL * speeds[most]
    yield Statement(0.6 if far else 0.2, link(said, speeds[least], "bytes/s", "measurements"))


def _tools(facts: Facts) -> Iterator[Statement]:
    for tool, metric, words, wrong in _TOOLS:
        found = facts.measured.of(tool, metric)
        worst = max(found, key=found.__getitem__, default=None)
        if worst is None or not found[worst]:
            continue
        unit, write = _UNITS.get(metric.rpartition("_")[2], ("count", "{:,.0f}".format))
        said = words.format(worst, write(found[worst]))
        grave = 0.2 if wrong is None or found[worst] < wrong else 0.8
        # Of two times of one command the longer one is said first.
        grave += min(found[worst], 1e11) / 1e13 if unit == "ns" else 0.0
        yield Statement(grave, link(said, found[worst], unit, "measurements"))


def _clean(facts: Facts) -> Iterator[Statement]:
    for span in facts.measured.of("dmesg", "without_errors_ns").values():
        said = f"no I/O errors and no hung tasks in {duration(span)} of the kernel's log"
        yield Statement(0.1, link(said, span, "ns", "measurements"))


def _innodb(facts: Facts) -> Iterator[Statement]:
    """What InnoDB does a second, and how large its reads are."""
    found = {n.metric: n.value for n in facts.measured.numbers if n.tool == "innodb status"}
    parts = [
        f"{words} {found[name]:.3g} times a second"
        for name, words in (
            ("reads_per_s", "reads"),
            ("writes_per_s", "writes"),
            ("fsyncs_per_s", "syncs"),
        )
        if found.get(name)
    ]
    if parts:
        if found.get("reads_per_s") and found.get("read_mean_bytes"):
            parts[0] += f" ({size(found['read_mean_bytes'])} each)"
        said = f"InnoDB {', '.join(parts)}"
        yield Statement(0.2, link(said, found.get("fsyncs_per_s"), "1/s", "measurements"))
