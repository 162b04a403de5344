"""The objects that remedies name: the command's files and filesystem, its device, its control group with the one knob that holds there."""

import os
import re
from pathlib import PurePath

from msgspec import Struct

from iowhy import sentences, units
from iowhy.invocation import quoted
from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes
from iowhy.whys.facts import Facts, filesystems, started

#: Of the time of its requests, what one file has for it to be called its data.
MOST = 0.5
#: So many files are named together, if they have nearly all of it.
FEW = 4
NEARLY_ALL = 0.9
_MIB = 1 << 20


class _Path(Struct, frozen=True):
    path: str


class _Container(Struct, frozen=True):
    name: str | None
    runtime: str | None
    pod: str | None


class _Called(Struct, frozen=True):
    path: str | None
    is_device: bool
    share: float | None


def file(facts: Facts) -> str | None:
    """The file that it waits for longest: in calls that read, or that write and sync, else by requests for what is mapped.

    None if none has half of that time, or its name is not known.
    """
    writing = facts.budget.elapsed(classes.WRITE, classes.SYNC, classes.THROTTLED)
    reads = facts.budget.elapsed(classes.READ) >= writing
    calls = classes.DATA_READS if reads else classes.DATA_WRITES | classes.SYNC_CALLS
    found = None if reads and maps(facts) else called(facts, calls)
    if found is not None:
        return found
    first = next(iter(facts.requests.owners), None)
    return first.path if first is not None and first.time_share >= MOST else None


def maps(facts: Facts) -> bool:
    """Whether page faults do most of its waiting for reads: then what calls read is not what it waits for."""
    reading = [piece for piece in facts.budget.pieces if piece.cls == classes.READ]
    faults = sum(piece.elapsed for piece in reading if piece.call is None)
    return 2 * faults > sum(piece.elapsed for piece in reading)


def called(facts: Facts, calls: frozenset[str]) -> str | None:
    """The file that has half of the time of these calls; None if none has, or its name is not known."""
    return next((one.path for one in _called(facts, calls)[:1] if (one.share or 0.0) >= MOST), None)


def in_device(facts: Facts, calls: frozenset[str]) -> bool:
    """Whether half of the time of these calls is in a device, such as /dev/null or a terminal."""
    return any(one.is_device and (one.share or 0.0) >= MOST for one in _called(facts, calls)[:1])


def _called(facts: Facts, calls: frozenset[str]) -> list[_Called]:
    """The files and devices in which these calls take most of their time, the longest first."""
    return facts.relations.read(
        _Called,
        f"""SELECT CASE WHEN f.kind IS DISTINCT FROM 'device' THEN f.path END AS path,
          coalesce(f.kind = 'device', false) AS is_device, c.waited / nullif(sum(c.waited) OVER (), 0) AS share
        FROM (SELECT dev, ino, sum(total_ns)::DOUBLE AS waited FROM calls_by_file
            WHERE ino IS NOT NULL AND name IN {classes.quoted(calls)} GROUP BY dev, ino) AS c
        LEFT JOIN named_files AS f ON f.dev = c.dev AND f.ino = c.ino
        WHERE coalesce(f.kind, 'file') IN ('file', 'device')
        ORDER BY share DESC NULLS LAST, f.path LIMIT {FEW}""",
    )


def _together(facts: Facts, one: str) -> tuple[str, ...]:
    """A file, with those that are read as long: a few that have nearly all of the time."""
    paths: list[str] = []
    left = 1.0
    for each in () if maps(facts) else _called(facts, classes.DATA_READS):
        if left <= 1 - NEARLY_ALL or not (each.path or "").startswith("/"):
            break
        paths.append(each.path or "")
        left -= each.share or 0.0
    return tuple(paths) if one in paths and left <= 1 - NEARLY_ALL else (one,)


def folder(facts: Facts) -> str | None:
    """The directory that holds the files which cost most; None if they share none, or it is the system's root."""
    paths = [one.path for one in facts.requests.owners if one.path and one.path.startswith("/")]
    if not paths:
        return None
    shared = os.path.commonpath([PurePath(path).parent for path in paths])
    return None if shared == "/" else shared


def data(facts: Facts) -> str:
    """`/srv/table`, `the files in /srv`, or `its files`, as far as that is known."""
    within = folder(facts)
    return file(facts) or ("its files" if within is None else f"the files in {within}")


def read_into_memory(facts: Facts, *, names: bool = False) -> str | None:
    """The command that reads its data into memory, or the names in its tree; None if it is not known where that is."""
    one, within, below = file(facts), folder(facts), _with(tree(facts), folder(facts))
    if below is not None and (names or one is None):
        reads = not names or (facts.calls.reads.done_bytes or 0.0) >= _MIB
        return (
            f"find {quoted(below)} -type f -exec cat {{}} + > /dev/null"
            if reads
            else f"ls -lR {quoted(below)} > /dev/null"
        )
    if one is not None and one.startswith("/"):
        return f"cat {' '.join(map(quoted, _together(facts, one)))} > /dev/null"
    if within is None:
        return None
    if all(str(PurePath(one.path).parent) == within for one in facts.requests.owners if one.path):
        return f"cat {quoted(within)}/* > /dev/null"
    return f"find {quoted(within)} -type f -exec cat {{}} + > /dev/null"


def _with(below: str | None, within: str | None) -> str | None:
    """The tree that it lists, with the files that it reads elsewhere; None if only the whole system has both."""
    shared = below if below is None or within is None else os.path.commonpath([below, within])
    return None if shared == "/" else shared


def tree(facts: Facts) -> str | None:
    """The directory below which it lists names, on one filesystem; None if it lists none, or all of the system."""
    if not facts.relations.has("syscalls"):
        return None
    found = facts.relations.read(
        _Path,
        """WITH listed AS (
          SELECT DISTINCT s.dev, f.path FROM calls_by_file s JOIN named_files f ON f.dev = s.dev AND f.ino = s.ino
          WHERE s.name = 'getdents64' AND f.path LIKE '/%'
        )
        SELECT path FROM listed WHERE dev = (SELECT mode(dev) FROM listed) ORDER BY path""",
    )
    if not found:
        return None
    shared = os.path.commonpath([found[0].path, found[-1].path])
    return None if shared == "/" else shared


def again(facts: Facts) -> str:
    """The command as it was typed, quoted for a shell, if that is one line of a few words."""
    words = facts.run.argv if facts.run.mode == "run" else ()
    line = " ".join(quoted(word) for word in words)
    return line if words and "\n" not in line and len(words) <= 8 else ""


def in_short(facts: Facts) -> str:
    """The command as it was typed; of a longer one the program, `sysbench …`."""
    return again(facts) or f"{facts.run.who} …"


def other(facts: Facts, who: str) -> str:
    """Another process, which may have the name of what was recorded."""
    return f"the other {who}" if who.partition(" (")[0] == facts.run.who else who


def attached(facts: Facts) -> str:
    """The processes that were attached to, as options take them: `12,14`."""
    pids = started.roots(facts.relations) if facts.run.mode == "attach" else ()
    return ",".join(map(str, pids))


def all_cpus(facts: Facts) -> Sentence:
    """The order that lets its threads run on all CPUs, by what binds them: the word before the command, a container, or what it has inherited."""
    cpus = facts.machine.cpus
    every = "all" if cpus is None else f"0-{cpus - 1}"
    binder = _binder(facts.run.argv)
    if binder:
        return worded("all-cpus.unbound", "Start it without `{binder}`", binder=binder)
    path = _limited(facts, None)
    found = None if path is None else _container(facts.relations, path)
    if found is not None and found.name and found.runtime in ("docker", "podman"):
        typed = f"{found.runtime} update --cpuset-cpus {every} {quoted(found.name)}"
        return worded("all-cpus.container", "Let it run on all CPUs: `{typed}`", typed=typed)
    pids = attached(facts).split(",")
    if pids[0]:
        return worded(
            "all-cpus.running",
            "Let it run on all CPUs: `taskset -acp {cpus} {pid}`",
            cpus=every,
            pid=pids[0],
        )
    typed = again(facts)
    if not typed:
        return worded(
            "all-cpus.start", "Start it on all CPUs, with `taskset -c {cpus}`", cpus=every
        )
    return worded(
        "all-cpus.again",
        "Let it run on all CPUs: `taskset -c {cpus} {typed}`",
        cpus=every,
        typed=typed,
    )


def _binder(argv: tuple[str, ...]) -> str:
    """What binds a command to CPUs, as it was typed before it: `taskset -c 0`."""
    name = PurePath(argv[0]).name if argv else ""
    if name not in ("taskset", "numactl"):
        return ""
    end = next((at for at, word in enumerate(argv[1:], 1) if not word.startswith("-")), len(argv))
    # The list of CPUs is a word of its own for taskset alone.
    return " ".join((name, *argv[1 : end + (name == "taskset")]))


def source(facts: Facts, mount: str | None) -> str | None:
    """The device of a mount, `/dev/vda1`; None if not known."""
    found = next((one for one in facts.filesystems if one.mount == mount), None)
    if found is None or found.disk_dev is None:
        return None
    sql = f"SELECT '/dev/' || name AS path FROM devices WHERE dev = {found.disk_dev}"
    return _first(facts.relations, sql) if facts.relations.has("devices") else None


def waited_mount(facts: Facts) -> str | None:
    """Where the filesystem is mounted that is waited for longest."""
    found = filesystems.of(facts.filesystems, filesystems.waited_for_most(facts.relations))
    return None if found is None else found.mount


def cpu_quota(facts: Facts, cores: int) -> Sentence:
    """The order that gives its control group so many CPUs."""
    many = units.plural(cores, "CPU")
    path = _limited(facts, "quota_cores")
    typed = _typed(
        facts,
        path,
        "cpu",
        unit=f"CPUQuota={cores}00%",
        container=f"--cpus {cores}",
        old=("cpu.cfs_quota_us", f"{cores}00000"),
        new=("cpu.max", f"{cores}00000 100000"),
    )
    return _order(
        "group.more-cpus",
        f"Give {{}} {many}",
        facts,
        path,
        typed,
        f"limits.cpu: {cores}",
        "cpu.max",
    )


def memory_limit(facts: Facts, least: float) -> Sentence:
    """The order that gives its control group so much memory, rounded up to MiB."""
    mib = max(1, -(-int(least) // _MIB))
    path = _limited(facts, "memory_limit_bytes")
    typed = _typed(
        facts,
        path,
        "memory",
        unit=f"MemoryMax={mib}M",
        container=f"--memory {mib}m --memory-swap {2 * mib}m",
        old=("memory.limit_in_bytes", f"{mib}M"),
        new=("memory.max", f"{mib}M"),
    )
    much = units.size(float(mib * _MIB))
    return _order("group.more-memory", f"Give {{}} {much} of memory", facts, path, typed, f"limits.memory: {mib}Mi", "memory.max")  # fmt: skip


class IoKnob(Struct, frozen=True):
    """One limit on a device as systemd, version 1 and version 2 of control groups call it."""

    unit: str
    old: str
    new: str


READ_BYTES = IoKnob("IOReadBandwidthMax", "blkio.throttle.read_bps_device", "rbps")
WRITE_BYTES = IoKnob("IOWriteBandwidthMax", "blkio.throttle.write_bps_device", "wbps")
READS = IoKnob("IOReadIOPSMax", "blkio.throttle.read_iops_device", "riops")
WRITES = IoKnob("IOWriteIOPSMax", "blkio.throttle.write_iops_device", "wiops")


def no_io_limit(facts: Facts, knob: IoKnob, dev: int | None, device: str | None) -> Sentence:
    """The order that takes a limit on a device away."""
    path = None if dev is None else _limited(facts, None)
    number = "" if dev is None else f"{dev >> 20}:{dev & 0xFFFFF}"
    typed = _typed(
        facts,
        path,
        "blkio",
        unit=f"{knob.unit}='/dev/{device} infinity'",
        container=None,
        old=(knob.old, f"{number} 0"),
        new=("io.max", f"{number} {knob.new}=max"),
    )
    return _order("group.no-io-limit", "Lift the limit of {}", facts, path, typed, None, "io.max")


def _order(
    id_: str,
    what: str,
    facts: Facts,
    path: str | None,
    typed: str | None,
    in_manifest: str | None,
    knob: str,
) -> Sentence:
    """The words with the group's name, and how that is typed."""
    found = None if path is None else _container(facts.relations, path)
    if found is not None and found.pod is not None and in_manifest is not None:
        said = f"Set `{in_manifest}` for {found.name} in the manifest of pod {found.pod}"
        return sentences.named(id_, said, container=found.name, pod=found.pod, setting=in_manifest)
    if path is None or typed is None:
        return sentences.named(id_, f"{what.format('its control group')} ({knob})", knob=knob)
    called = found.name if found is not None else None
    said = f"{what.format(called or 'its control group')}: `{typed}`"
    return sentences.named(id_, said, group=path, typed=typed)


def _typed(
    facts: Facts,
    path: str | None,
    controller: str,
    *,
    unit: str,
    container: str | None,
    old: tuple[str, str],
    new: tuple[str, str],
) -> str | None:
    """What sets the knob: by docker, podman or systemd if the group is theirs, else in its file."""
    directory = _joined(facts.run.argv, controller)
    if directory is not None:
        knob, value = old if directory[1] else new
        return f"echo {quoted(value)} > {quoted(f'{directory[0]}/{knob}')}"
    if path is None or path == "/":
        return None
    found = _container(facts.relations, path)
    name = PurePath(path).name
    if found is not None and found.runtime in ("docker", "podman") and container and found.name:
        return f"{found.runtime} update {container} {quoted(found.name)}"
    if found is None and re.fullmatch(r"[^/]+\.(?:service|scope|slice)", name):
        return f"systemctl set-property {quoted(name)} {unit}"
    mount = _version_1(facts, controller)
    knob, value = new if mount is None else old
    at = f"{mount or '/sys/fs/cgroup'}{path}/{knob}"
    return f"echo {quoted(value)} > {quoted(at)}"


def _version_1(facts: Facts, controller: str) -> str | None:
    """Where version 1 of control groups has a controller mounted; None if version 2 has it."""
    mounts = (one.mount for one in facts.filesystems if one.kind == "cgroup")
    return next((one for one in mounts if controller in PurePath(one).name.split(",")), None)


def _limited(facts: Facts, column: str | None) -> str | None:
    """The group with the tightest limit of a kind; of I/O the last one that was seen."""
    if not facts.relations.has("cgroup_samples"):
        return None
    sql = "SELECT path FROM cgroup_samples ORDER BY ts_ns DESC LIMIT 1"
    if column is not None:
        sql = f"SELECT path FROM group_totals WHERE {column} IS NOT NULL ORDER BY {column}, path LIMIT 1"
    return _first(facts.relations, sql)


def _joined(argv: tuple[str, ...], controller: str) -> tuple[str, bool] | None:
    """The group that a command moves itself to first, as it was typed, and whether it is one of version 1."""
    for word in argv:
        found = re.search(r"(/sys/fs/cgroup/([^/\s]+)(?:/\S*)?)/cgroup\.procs\b", word)
        if found is not None:
            old = found[2] in ("blkio", "cpu", "cpuset", "memory", "cpu,cpuacct")
            return (found[1], old) if not old or controller in found[2].split(",") else None
    return None


def _container(relations: Relations, path: str) -> _Container | None:
    if not relations.has("containers"):
        return None
    found = relations.read(
        _Container,
        f"""SELECT name, runtime, CASE WHEN pod IS NOT NULL THEN concat_ws('/', pod_namespace, pod) END AS pod
        FROM containers WHERE runtime IS DISTINCT FROM 'systemd' AND starts_with({text_literal(path + "/")}, cgroup || '/')
        ORDER BY length(cgroup) DESC LIMIT 1""",
    )
    return found[0] if found else None


def _first(relations: Relations, sql: str) -> str | None:
    found = relations.read(_Path, sql)
    return found[0].path if found else None
