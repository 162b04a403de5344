"""The application reads or writes little at a time."""
# long: calls that cost CPU time and requests that wait are two ways to move little at a time, with one remedy

from msgspec.structs import replace

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, for_users, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, size
from iowhy.whys.facts import Facts, reopened
from iowhy.whys.facts.alongside import made_for
from iowhy.whys.facts.calls import TINY_BYTES
from iowhy.whys.facts.job import LARGE_BYTES, Job
from iowhy.whys.facts.requests import Requests
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

TINY_CALLS = 10_000
SMALL_BYTES = 16 * 1024
REQUESTS_MIN = 64
# Calls of a job that take 1 ms each on a parallel filesystem take a second together.
JOB_CALLS = 1_000
DEPTH = 4.0
MOSTLY = 0.5
# The program's own time from one tiny call to the next: an interpreter takes as long to make a call (CPython and a JVM
# some hundred ns), and hardly anything is done with a few bytes in that time.
BETWEEN_NS = 2_000
# Some of that goes with the calls, some remains: half of it goes, and no more than making a call takes, from a C
# library's 100 ns to an interpreter's 600.
BETWEEN_SAVED, CALL_NS = 0.5, 400
# What a program computes for a byte that it reads, at most: an interpreter that takes lines apart.
BYTE_NS = 40
# To enter and leave the kernel, before a call's begin and after its end as they are recorded, with what processors need against
# speculation.
ENTRY_NS = 250
# Of the calls, what is not one way alone.
BOTH = 0.2
# What a buffer like that of stdio, or a better one, asks for.
LARGE_CALL_BYTES = 64 * 1024


def find(facts: Facts) -> Candidate | None:
    """Tiny calls that cost CPU time, or small calls in order that wait one by one."""
    if facts.job is not None:
        return _of_job(facts, facts.job)
    tiny, small = _tiny(facts), _small(facts)
    if tiny is None or small is None:
        return tiny or small
    return tiny if tiny.claims[0].fraction > MOSTLY else small


def _tiny(facts: Facts) -> Candidate | None:
    calls = facts.calls
    group = calls.tiny
    all_calls = calls.reads.calls + calls.writes.calls
    kernel, in_kernel = facts.budget.line(classes.KERNEL), facts.budget.elapsed(classes.KERNEL)
    if group.calls < TINY_CALLS or not group.cpu_ns or not kernel.thread_s:
        return None
    in_calls_ns = min(group.cpu_ns, _file_calls_ns(facts) or group.cpu_ns)
    again = _reopened(facts)
    vain = 0
    if again is None:
        outside_ns = facts.budget.reason_ns(classes.KERNEL, classes.FAULTS)
        vain, part = made_for(facts.relations, group.calls)
        in_calls_ns += min(outside_ns, ENTRY_NS * (group.calls + vain))
        in_calls_ns += part * facts.budget.reason_ns(classes.KERNEL, classes.OTHER_CALLS)
    else:
        in_calls_ns = max(in_calls_ns, again.calls_ns)
    fraction = min(1.0, in_calls_ns / 1e9 / kernel.thread_s)
    if fraction * in_kernel < thresholds.LISTED or group.calls < MOSTLY * all_calls:
        return None
    number, mean = group.calls, in_calls_ns / group.calls
    user = facts.budget.line(classes.USER)
    between_ns = (user.thread_s or 0.0) * 1e9 / number
    claims = [Claim(frozenset({classes.KERNEL}), fraction=fraction)]
    waiting = remains = 0.0
    if between_ns <= BETWEEN_NS:
        claims.append(Claim(frozenset({classes.USER})))
        claimed = evidence.claimed(facts, claims)
        remains = (
            _computed(facts, between_ns, 1 + vain / number)
            * facts.budget.elapsed(classes.USER)
            / claimed
        )
        # Who computes less waits for a CPU less.
        part = evidence.claimed(facts, claims) / facts.budget.elapsed(*classes.CPU)
        claims.append(Claim(frozenset({classes.RUNNABLE}), fraction=part, follows=True))
        waiting = part * facts.budget.elapsed(classes.RUNNABLE)
    each = None if group.bytes is None else group.bytes / number
    return Candidate(
        claims=tuple(claims),
        chain=chain_of(
            link(
                f"{percent(in_kernel)} of the time is CPU time in the kernel",
                in_kernel,
                "share",
                "budget",
            ),
            *_tiny_calls(number, each, mean, between_ns if len(claims) > 1 else None, waiting),
        ),
        summary=_says_tiny(number, group.bytes, again),
        saving=saving.all_of_it("if hardly any calls are left")
        if each is None
        else Saving(
            max(0.0, 1 - each / LARGE_CALL_BYTES - remains),
            f"with calls of {size(LARGE_CALL_BYTES)}",
        ),
        remedies=_larger_calls(facts, each) if again is None else (_keep_open(again, each),),
        needs=("syscalls",),
    )


def _computed(facts: Facts, between_ns: float, calls: float) -> float:
    """The share of its own time between tiny calls in which the program computes on what they move; `calls` it makes for each, with itself."""
    if not between_ns:
        return 0.0
    remains = 1 - min(BETWEEN_SAVED, calls * CALL_NS / between_ns)
    reads = facts.calls.reads
    if reads.calls <= MOSTLY * facts.calls.tiny.calls or reads.done_bytes is None:
        return remains
    return min(remains, BYTE_NS * reads.done_bytes / facts.calls.tiny.calls / between_ns)


def _reopened(facts: Facts) -> reopened.Reopened | None:
    """The opens, if hardly more than one of the tiny calls comes with each."""
    found = reopened.measure(facts.relations)
    return None if found is None or found.opens < MOSTLY * facts.calls.tiny.calls else found


def _keep_open(again: reopened.Reopened, each: float | None) -> Remedy:
    """Nothing can be gathered of a file that is closed after each call."""
    do = worded(
        "small-requests.keep-open",
        "Keep its files open instead of opening {files:count file} {opens:count time}, and move 1 MiB at a time"
        + ("" if each is None else " instead of {each:bytes}"),
        files=again.files,
        opens=again.opens,
        each=each,
    )
    return Remedy(do, risk="a crash loses what was not written yet", for_authors=True)


def _tiny_calls(
    number: int, each: float | None, mean_ns: float, between_ns: float | None, waiting: float
) -> tuple[Link, ...]:
    """How little a call moves, what it costs, and what is computed and waited for between them."""
    return chain_of(
        None
        if each is None
        else link(
            f"{count(number)} calls ask for {size(each)} each on average", each, "bytes", "syscalls"
        ),
        link(
            f"each costs {duration(mean_ns)} of CPU time, far more than copying its bytes",
            mean_ns,
            "ns",
            "syscalls",
        ),
        None
        if between_ns is None
        else link(
            f"the program computes {duration(between_ns)} between two of them, mostly to make the next call",
            between_ns,
            "ns",
            "budget",
        ),
        None
        if waiting < thresholds.LISTED
        else link(
            f"to do that it waits for a CPU, {percent(waiting)} of the time",
            waiting,
            "share",
            "budget",
            "small-requests.waits-for-cpu",
        ),
    )


def _says_tiny(calls: int, bytes_: float | None, again: reopened.Reopened | None) -> Sentence:
    """What it did in that time."""
    return worded(
        "small-requests.calls",
        "making {calls:count} calls that move "
        + ("a few bytes each" if bytes_ is None else "{each:bytes} each")
        + ("" if again is None else ", with an open for each"),
        calls=calls,
        each=None if bytes_ is None else bytes_ / calls,
    )


def _larger_calls(facts: Facts, each: float | None) -> tuple[Remedy, ...]:
    """Larger calls of the kind that most of the tiny ones are."""
    reads, writes = facts.calls.reads, facts.calls.writes
    if min(reads.calls, writes.calls) >= BOTH * (reads.calls + writes.calls):
        return _remedies(facts, each, "Read and write", "its files")
    way, group, names = (
        ("Read", reads, classes.DATA_READS)
        if reads.calls > writes.calls
        else ("Write", writes, classes.DATA_WRITES)
    )
    own = each if group.bytes is None else group.bytes / group.calls
    data = named.called(facts, names)
    if data is None:
        in_device = named.in_device(facts, names)
        data = "its files" if not in_device else "its input" if way == "Read" else "its output"
    return _remedies(facts, own, way, data)


def _remedies(
    facts: Facts, each: float | None, way: str | None = None, data: str | None = None
) -> tuple[Remedy, ...]:
    """Larger calls, with the file and what they are now; the page cache gathers what bypasses it."""
    data = data or named.data(facts)
    reads = way == "Read"
    way = way or ("Write" if facts.requests.direction == "write" else "Access")
    instead = "" if each is None else f" instead of {size(each)}"
    larger = replace(
        _LARGER,
        do=worded(
            "small-requests.larger",
            "{way} {data} 1 MiB at a time{instead}",
            way=way,
            data=data,
            instead=instead,
        ),
        risk="each buffer takes 1 MiB of memory" if reads else _LARGER.risk,
    )
    if not _around_the_cache(facts):
        return (larger,)
    gathered = replace(
        _GATHERED,
        do=worded("small-requests.buffered", "Open {data} without O_DIRECT and O_SYNC", data=data),
        risk="others have less memory" if reads else _GATHERED.risk,
    )
    if facts.somebody_elses:
        return (for_users.larger_by_option(facts),)
    return (replace(larger, for_authors=True), gathered)


def _file_calls_ns(facts: Facts) -> int | None:
    """CPU time of calls on files without that of the recorder; None if they are not distinguished."""
    found = [
        piece.thread_ns or 0
        for piece in facts.budget.pieces
        if piece.cls == classes.KERNEL and piece.reason == classes.FILE_CALLS
    ]
    return sum(found) if found else None


def _small(facts: Facts) -> Candidate | None:
    calls, requests = facts.calls, facts.requests
    if not calls.known or not requests.known or requests.count < REQUESTS_MIN:
        return None
    ways = []
    for walk, cls, group in (
        (calls.reading, classes.READ, calls.reads),
        (calls.writing, classes.WRITE, calls.writes),
    ):
        in_order = walk.jump_share is not None and walk.jump_share < thresholds.JUMPS
        small = walk.median_bytes is not None and walk.median_bytes <= SMALL_BYTES
        if in_order and small and _in_calls(facts, cls) >= thresholds.LISTED:
            ways.append((cls, walk, group))
    median, depth = requests.median_bytes, requests.own_depth
    if not ways or median is None or median > SMALL_BYTES or depth is None or depth > DEPTH:
        return None
    # The page cache gathers what is adjacent: requests that jump are for places apart, such as many small files.
    if (requests.jump_share or 0) >= thresholds.JUMPS and not _around_the_cache(facts):
        return None
    cls, walk, group = max(ways, key=lambda way: _in_calls(facts, way[0]))
    computing = _computing(facts, sum(way[2].cpu_ns or 0.0 for way in ways))
    on_cpu = facts.budget.elapsed(classes.KERNEL) * sum((one.fraction for one in computing), 0.0)
    return Candidate(
        claims=(*(_claim(facts, way[0]) for way in ways), *computing),
        chain=chain_of(
            links.in_these_calls(
                facts, frozenset({cls}), _claim(facts, cls).calls, f"is spent {cls}"
            ),
            None
            if not on_cpu
            else link(
                f"{percent(on_cpu)} of the time is CPU time in these calls",
                on_cpu,
                "share",
                "syscalls",
                "small-requests.on-cpu",
            ),
            link(
                f"{count(group.calls)} calls ask for {size(walk.median_bytes)} each, in order within the file",
                walk.median_bytes,
                "bytes",
                "events",
                "small-requests.median-bytes",
            ),
            links.request_shape(facts),
            None
            if requests.median_service_ns is None
            else link(
                f"each request takes {duration(requests.median_service_ns)}, however little it moves",
                requests.median_service_ns,
                "ns",
                "request-latency",
                "small-requests.service",
            ),
        ),
        summary=_says(requests),
        saving=_saving(facts, [way[0] for way in ways], on_cpu),
        remedies=_remedies(facts, walk.median_bytes, "Read" if cls == classes.READ else None),
        needs=("syscalls", "block_requests", "waits"),
    )


_ON = {"read": " from {device}", "write": " to {device}"}


def _says(requests: Requests) -> Sentence:
    """What it did in that time."""
    return worded(
        "small-requests.requests",
        "waiting for {requests:count} "
        + ("requests" if requests.direction is None else f"{requests.direction}s")
        + " of {request:bytes}"
        + _ON.get(requests.direction or "", "")
        + ", which could be a few large ones",
        requests=requests.count,
        device=requests.device,
        request=requests.median_bytes,
    )


def _of_job(facts: Facts, job: Job) -> Candidate | None:
    """Calls that are small for the servers of a parallel filesystem, where most are."""
    ways = [
        (cls, way, word)
        for cls, way, word in (
            (classes.READ, job.reads, "reads"),
            (classes.WRITE, job.writes, "writes"),
        )
        if way.small >= max(JOB_CALLS, MOSTLY * way.calls)
        and way.small / way.calls * facts.budget.elapsed(cls) >= thresholds.LISTED
    ]
    if not ways:
        return None
    cls, way, word = max(ways, key=lambda one: facts.budget.elapsed(one[0]))
    sieved = job.rewritten if cls == classes.READ else None
    shared = job.total("shared_count") >= MOSTLY * (job.reads.calls + job.writes.calls)
    return Candidate(
        claims=tuple(
            Claim(frozenset({c}), fraction=min(1.0, one.small / one.calls)) for c, one, _ in ways
        ),
        chain=chain_of(
            link(
                f"{percent(facts.budget.elapsed(cls))} of the time is spent {cls}",
                facts.budget.elapsed(cls),
                "share",
                "measurements",
                "small-requests.elapsed",
            ),
            link(
                f"{count(way.small)} of {count(way.calls)} {word} are of less than 100 kB, {size(way.mean)} on average"
                + (", most of them of files that several processes share" if shared else ""),
                way.mean,
                "bytes",
                "measurements",
                "small-requests.mean",
            ),
            sieved,
            job.unaligned,
        ),
        summary=worded(
            "small-requests.of-job",
            "in {small:count} small {word}, {each:bytes} on average",
            small=way.small,
            word=word,
            each=way.mean,
        ),
        saving=Saving(
            max(0.0, 1 - way.mean / LARGE_BYTES), f"with {word} of {size(LARGE_BYTES)} each"
        ),
        remedies=(_NO_SIEVE, _COLLECTIVE)
        if sieved is not None
        else (_COLLECTIVE, _LARGER)
        if shared
        else (_LARGER,),
        confidence=0.75,
        lowered_by=("how long small calls take, and others, is not apart in the log",),
    )


def _claim(facts: Facts, cls: str) -> Claim:
    """What waits so in calls: mapped files are not read by calls, and larger ones would not help."""
    return Claim(frozenset({cls}), calls=evidence.calls_that_wait(facts, frozenset({cls})))


def _in_calls(facts: Facts, cls: str) -> float:
    claim = _claim(facts, cls)
    return evidence.waiting_in(facts, claim.classes, claim.calls)


def _computing(facts: Facts, cpu_ns: float) -> tuple[Claim, ...]:
    """CPU time of direct calls, which belongs to them: they copy nothing, it is the way to the device and back."""
    kernel = facts.budget.line(classes.KERNEL)
    if not evidence.direct_io(facts) or not kernel.thread_ns:
        return ()
    part = min(1.0, cpu_ns / kernel.thread_ns)
    if part * kernel.elapsed_share < thresholds.LISTED:
        return ()
    return (Claim(frozenset({classes.KERNEL}), fraction=part, follows=True),)


def _saving(facts: Facts, waits: list[str], on_cpu: float) -> Saving:
    """All of the waiting except for moving the bytes, and all of the computing."""
    waiting = sum(_in_calls(facts, cls) for cls in waits)
    moving = saving.all_but_moving(facts, waits, facts.requests.bytes, "with larger calls")
    return Saving((moving.part * waiting + on_cpu) / (waiting + on_cpu), moving.condition)


def _around_the_cache(facts: Facts) -> bool:
    """Whether it uses direct I/O or durable writes: only then the page cache cannot gather them."""
    return evidence.direct_io(facts) or (facts.calls.by_write and facts.durable_writes is not False)


_LARGER = Remedy(
    worded("small-requests.larger-any", "Read and write 1 MiB per call"),
    risk="a crash loses what is still in the buffer",
)
_COLLECTIVE = Remedy(
    worded(
        "small-requests.collective",
        "Let MPI-IO gather them with collective calls (`MPI_File_write_at_all`)",
    ),
    risk="a process that does not reach the call stops all",
    for_authors=True,
)
_NO_SIEVE = Remedy(
    worded(
        "small-requests.no-sieving",
        "Do not read the gaps before each write: MPI-IO's hint `romio_ds_write=disable`",
    ),
    risk="many small writes instead, if the data are in small pieces",
)
_GATHERED = Remedy(
    worded(
        "small-requests.buffered-any",
        "Let the page cache gather it: open the files without O_DIRECT and O_SYNC",
    ),
    risk="a crash loses what was not synced yet",
)

CAUSE = Cause(
    name="small-requests",
    title="Many small calls or requests",
    meaning=(
        "Each call and each request has a fixed cost; with a few bytes in each, that is nearly the whole "
        "cost. The calls go through the file in order, so they could ask for more."
    ),
    measured=(
        "Sizes and offsets of the calls, the CPU time inside them, and the sizes of the resulting "
        "requests."
    ),
    thresholds=(
        Threshold(
            "tiny call", TINY_BYTES, "bytes",
            "entering and leaving the kernel costs 0.2 to 1 µs, as much as copying a few KiB",
        ),
        Threshold(
            "tiny calls, at least", TINY_CALLS, "calls",
            "fewer take less than 10 ms together",
        ),
        Threshold(
            "small request", SMALL_BYTES, "bytes",
            "below it, even fast devices spend more on the request than on its data",
        ),
        Threshold(
            "program's own time between two tiny calls, at most", BETWEEN_NS, "ns",
            "it belongs to the calls: with more, the program does something with what it gets",
        ),
        Threshold(
            "small calls of a job (Darshan), at least", JOB_CALLS, "calls",
            "on a parallel filesystem, a call takes about 1 ms: fewer take less than a second",
        ),
        Threshold("requests, at least", REQUESTS_MIN, "requests", "fewer cost nothing together"),
        Threshold(
            "requests in flight, at most", DEPTH, "requests",
            "with more, the device has work while one is answered: it does not wait because of their size",
        ),
        Threshold(
            "share of the calls that are tiny, and of the kernel's time that is theirs", MOSTLY, "share",
            "below half something else is the larger part",
        ),
    ),
    fooled_by=(
        "direct I/O in small pieces by several threads, which the device merges",
        "calls that jump: then their size is not the reason (random-access)",
    ),
    remedies=(_LARGER, _GATHERED, _COLLECTIVE, _NO_SIEVE),
    find=find,
    explains=classes.named("read write kernel user runnable"),
    unseen_without=("syscalls", "block_requests"),
    settled_by=next_command.FILE,
    beats=("queue-shallow", "device-saturated", "cpu-serial", "cpu-saturated", "ranks-uneven", "io-not-overlapped"),
)  # fmt: skip
