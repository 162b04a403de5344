"""Links of the chain that more than one cause shows, so that each number has one statement."""

from msgspec import Struct

from iowhy.sentences import worded
from iowhy.whys import classes, evidence
from iowhy.whys.chain import duration, link
from iowhy.whys.evidence import alone_on_its_device, requests_were_recorded
from iowhy.whys.facts import Facts
from iowhy.whys.facts.measured import Load
from iowhy.whys.finding import Link

#: Of the run, inside sync calls, from which they look like the cost; of that, on a CPU, from which they are not.
SYNC_COVERS = 0.2
SYNC_COMPUTES = 0.5


def synchronous_writes(facts: Facts) -> Link | None:
    """That it is writes which make data durable, not their own calls; O_SYNC only if that is seen."""
    if not facts.calls.by_write:
        return None
    return link(
        worded(
            "durable-writes",
            "{writes:count} writes wait until their data is durable"
            + (" (O_SYNC, O_DSYNC)" if facts.durable_writes else ""),
            writes=facts.calls.sync_writes,
        ),
        facts.calls.sync_writes,
        "calls",
        "syscalls",
    )


def sync_looks_long(facts: Facts) -> tuple[Link, ...]:
    """When sync-like calls seem to take the time but spend it on a CPU: how little was device time."""
    syncs, elapsed, inside_ns = facts.calls.syncs, facts.run.elapsed_ns, facts.calls.sync_wall_ns
    if facts.calls.by_write or not syncs.calls or not elapsed or inside_ns is None:
        return ()
    wall = inside_ns / elapsed
    if wall < SYNC_COVERS or syncs.cpu_share is None or syncs.cpu_share < SYNC_COMPUTES:
        return ()
    name = facts.calls.sync_name or "fsync"
    own = facts.calls.by_name.get(name)
    of_all = own is None or own.calls == syncs.calls
    return (
        link(
            worded(
                "syncs-look-long",
                ("{call}" if of_all else "syncing")
                + " only looks like the cost: {calls:count call}"
                + ("" if of_all else ", {of_call:count} of them {call},")
                + (" covers" if syncs.calls == 1 else " cover")
                + " {covered:share} of the run",
                call=name,
                calls=syncs.calls,
                of_call=None if own is None else own.calls,
                covered=wall,
            ),
            wall,
            "share",
            "sync",
        ),
        link(
            worded(
                "syncs-compute",
                "{cpu:share} of that time is on a CPU or waits for one"
                + (
                    ""
                    if syncs.blocked_share is None
                    else "; only {blocked:share} waits for the device"
                ),
                cpu=syncs.cpu_share,
                blocked=syncs.blocked_share,
            ),
            syncs.cpu_share if syncs.blocked_share is None else syncs.blocked_share,
            "share",
            "sync",
        ),
    )


def in_calls(facts: Facts, among: frozenset[str], words: str) -> Link | None:
    """`72 % of the time waits to read, most of it in pread64`."""
    share = facts.budget.elapsed(*among)
    heaviest = facts.budget.heaviest_calls(among)
    if share <= 0:
        return None
    name = heaviest[0][0] if heaviest and heaviest[0][1] >= share / 2 else None
    said = worded(
        "in-calls",
        "{share:share} of the time {is_doing}" + (", most of it in {call}" if name else ""),
        share=share,
        is_doing=words,
        call=name,
    )
    return link(said, share, "share", "budget")


def in_these_calls(
    facts: Facts, among: frozenset[str], calls: frozenset[str | None] | None, words: str
) -> Link | None:
    """The same, or, where page faults wait too, what of it is in calls: `34 % of the time waits to read in calls`."""
    if calls is None:
        return in_calls(facts, among, words)
    share = evidence.waiting_in(facts, among, calls)
    said = worded(
        "in-these-calls",
        "{share:share} of the time {is_doing} in calls",
        share=share,
        is_doing=words,
    )
    return link(said, share, "share", "budget")


def call_cost(facts: Facts, name: str) -> Link | None:
    """How often a call was made, how much it moves, how long it takes against its CPU time."""
    group = facts.calls.by_name.get(name)
    if group is None or not group.calls or group.mean_ns is None:
        return None
    over = facts.calls.sync_median_bytes if name == "msync" else None
    moves = None if name in classes.SYNC_CALLS else group.bytes
    return link(
        worded(
            "cost-of-calls",
            "{call}: {calls:count call}"
            + (
                " over a range of {range:bytes}"
                if over
                else " of {size:bytes} on average"
                if moves
                else ""
            )
            + ", {each:ns} each"
            + ("" if group.mean_cpu_ns is None else ", of which {cpu:ns} on a CPU"),
            call=name,
            calls=group.calls,
            range=over,
            size=(moves or 0) / group.calls,
            each=group.mean_ns,
            cpu=group.mean_cpu_ns,
        ),
        group.mean_ns,
        "ns",
        facts.calls.report,
    )


def request_shape(facts: Facts) -> Link | None:
    """Size and order of the command's requests."""
    found = facts.requests
    if not found.known or found.median_bytes is None:
        return None
    return link(
        worded(
            "requests",
            "{requests:count} requests to {device}, median {median:bytes}"
            + (
                ""
                if found.jump_share is None
                else "; {jumps:share} do not start where the one queued before ended"
            ),
            requests=found.count,
            device=found.device,
            median=found.median_bytes,
            jumps=found.jump_share,
        ),
        found.median_bytes,
        "bytes",
        "request-size",
    )


def device_load(facts: Facts) -> Link | None:
    """How busy the device is and how deep its queue; by its own counters only where no requests were recorded."""
    found = facts.requests
    if requests_were_recorded(facts):
        if found.busy_share is None or found.depth is None:
            return None
        elapsed = facts.run.elapsed_ns or 0
        return link(
            worded(
                "device-load",
                "{device}: {busy:share} busy, queue depth {depth:.1f} (all processes)"
                + ("; {who} moves {moves:rate}" if elapsed else ""),
                device=found.device,
                busy=found.busy_share,
                depth=found.depth,
                who=facts.run.who,
                moves=found.bytes * 1e9 / elapsed if elapsed else None,
            ),
            found.busy_share,
            "share",
            "devices",
        )
    device = facts.devices.top
    if device is None:
        return None
    return link(
        worded(
            "device-does",
            "{device}"
            + (
                ""
                if device.busy_share is None
                else " is {busy:share} busy ({depth:.1f} requests in flight while busy),"
                if device.depth
                else " is {busy:share} busy,"
            )
            + " does {reads:count} reads and {writes:count} writes/s, {moved:rate}"
            + (", {wait:ns} a request" if device.wait_ns else ""),
            device=device.name,
            busy=device.busy_share,
            depth=device.depth,
            reads=device.reads_per_s,
            writes=device.writes_per_s,
            moved=device.read_bytes_per_s + device.write_bytes_per_s,
            wait=device.wait_ns,
        ),
        device.busy_share,
        "share",
        "devices",
    )


def machine_busy(facts: Facts) -> Link | None:
    """How busy all CPUs of the machine are."""
    busy = facts.machine.busy
    if busy is None:
        return None
    said = worded("machine-busy", "the machine's CPUs are {busy:share} busy", busy=busy)
    return link(said, busy, "share", "system")


def bound_cpus(facts: Facts) -> int | None:
    """The CPUs that the threads are bound to; None where they may run on all of the machine's, or that is not known."""
    allowed, cpus = facts.allowed_cpus, facts.machine.cpus
    return None if allowed is None or cpus is None or allowed >= cpus else allowed


def bound_to(facts: Facts) -> Link | None:
    """To how few of the machine's CPUs the threads are bound."""
    bound, cpus = bound_cpus(facts), facts.machine.cpus
    if bound is None:
        return None
    said = worded(
        "bound-to",
        "{who} may run on only {bound:count CPU} of {cpus}",
        who=facts.run.who,
        bound=bound,
        cpus=cpus,
    )
    return link(said, bound, "CPUs", "threads")


def cpus_wanted(facts: Facts) -> Link | None:
    """How many CPUs the command uses, and how many its ready threads would."""
    used, wanted = facts.threads.cores_used, facts.threads.cores_wanted
    if used is None or wanted is None:
        return None
    bound = bound_cpus(facts)
    return link(
        worded(
            "cpus-wanted",
            "{who} gets {used:.2f} CPUs"
            + (
                " of the {bound} that it may run on"
                if bound is not None
                else ""
                if facts.machine.cpus is None
                else " of {cpus}"
            )
            + " and could use {wanted:.2f}",
            who=facts.run.who,
            used=used,
            bound=bound,
            cpus=facts.machine.cpus,
            wanted=wanted,
        ),
        wanted,
        "CPUs",
        "threads",
    )


#: Busy all of the time, but for what the rounding of a percentage hides.
STUCK = 0.99


class Loaded(Struct, frozen=True):
    """The most loaded device by its counters, whichever tool printed them; `shown` is the link of it."""

    name: str
    busy_share: float | None
    depth: float | None
    completed_per_s: float | None
    shown: Link | None

    @property
    def stuck(self) -> bool:
        """Requests in flight all the time, none of them completed."""
        return (
            self.completed_per_s == 0 and (self.depth or 0) > 0 and (self.busy_share or 0) >= STUCK
        )


def most_loaded(facts: Facts) -> Loaded | None:
    """By reads and writes apart, else by the use alone that a tool printed; None without either."""
    device, load = facts.devices.top, facts.measured.device
    if device is not None:
        completed = device.reads_per_s + device.writes_per_s
        return Loaded(device.name, device.busy_share, device.depth, completed, device_load(facts))
    if load is None:
        return None
    shown = _measured_load(load)
    return Loaded(load.name, load.busy_share, load.queue, load.operations_per_s, shown)


def _measured_load(load: Load) -> Link:
    """How busy a device is of which a tool printed only its use, not reads and writes apart."""
    return link(
        worded(
            "device-measured",
            "{device} is {busy:share} busy with {depth:.1f} requests in flight",
            device=load.name,
            busy=load.busy_share,
            depth=load.queue,
        ),
        load.busy_share,
        "share",
        "measurements",
    )


def dirtied_by_others(facts: Facts) -> Link | None:
    """Who made dirty what the command's syncs wait for apart from its own data."""
    found = facts.requests.dirtied_by
    if found is None:
        return None
    dirtied = (found.load or 0) * facts.page_bytes
    return link(
        worded(
            "dirtied-by-others",
            "{who} dirtied {dirtied:bytes} on {device}",
            who=found.who(),
            dirtied=dirtied,
            device=facts.requests.device,
        ),
        dirtied,
        "bytes",
        "dirtied-by-others",
    )


def flushes(facts: Facts) -> Link | None:
    """How many flushes its devices did for the command, and how long one takes; the report has anybody's."""
    found = facts.requests
    if not found.known or not found.flushes:
        return None
    first, *more = found.flushed
    others = "".join(
        worded(
            "flushes-too",
            "; {flushes:count} of {device}, {each:ns} each",
            flushes=one.count,
            device=one.device,
            each=one.time_ns / one.count,
        )
        for one in more[:2]
    )
    return link(
        worded(
            "flushes",
            "{flushes:count} cache flushes of {device} for {who}, {each:ns} each{others}",
            flushes=first.count,
            device=first.device,
            who=facts.run.who,
            each=first.time_ns / first.count,
            others=others,
        ),
        first.count,
        "flushes",
        "devices",
    )


#: Requests in flight from which on a part of the time to an answer is the wait behind one's own.
_TOGETHER = 1.5


def answered_in(facts: Facts, service_ns: float) -> str:
    """How long a request takes, in words that do not count the wait behind other requests as the device's time."""
    if not alone_on_its_device(facts):
        return f"each is answered in {duration(service_ns)}, including the wait behind other processes' requests"
    depth = facts.requests.own_depth
    if depth is not None and depth >= _TOGETHER:
        return f"each is answered in {duration(service_ns)}, at a queue depth of {depth:.2g}"
    return f"each takes the device {duration(service_ns)}"
