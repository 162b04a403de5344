"""Links of the chain that more than one cause shows, so that each number has one statement."""

from msgspec import Struct

from iowhy.whys import classes, evidence
from iowhy.whys.chain import count, duration, link, percent, plural, rate, size
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
    how = " (O_SYNC, O_DSYNC)" if facts.durable_writes else ""
    return link(
        f"{count(facts.calls.sync_writes)} writes wait until their data is durable{how}",
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
    waits = (
        ""
        if syncs.blocked_share is None
        else f"; only {percent(syncs.blocked_share)} waits for the device"
    )
    name = facts.calls.sync_name or "fsync"
    own = facts.calls.by_name.get(name)
    of_all = own is None or own.calls == syncs.calls
    among = "" if of_all or own is None else f", {count(own.calls)} of them {name},"
    return (
        link(
            f"{name if of_all else 'syncing'} only looks like the cost: {plural(syncs.calls, 'call')}{among} "
            f"{'covers' if syncs.calls == 1 else 'cover'} {percent(wall)} of the run",
            wall,
            "share",
            "sync",
        ),
        link(
            f"{percent(syncs.cpu_share)} of that time is on a CPU or waits for one{waits}",
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
    name = heaviest[0][0] if heaviest else None
    most = f", most of it in {name}" if name and heaviest[0][1] >= share / 2 else ""
    return link(f"{percent(share)} of the time {words}{most}", share, "share", "budget")


def in_these_calls(
    facts: Facts, among: frozenset[str], calls: frozenset[str | None] | None, words: str
) -> Link | None:
    """The same, or, where page faults wait too, what of it is in calls: `34 % of the time waits to read in calls`."""
    if calls is None:
        return in_calls(facts, among, words)
    share = evidence.waiting_in(facts, among, calls)
    return link(f"{percent(share)} of the time {words} in calls", share, "share", "budget")


def call_cost(facts: Facts, name: str) -> Link | None:
    """How often a call was made, how much it moves, how long it takes against its CPU time."""
    group = facts.calls.by_name.get(name)
    if group is None or not group.calls or group.mean_ns is None:
        return None
    each = ""
    if name == "msync" and facts.calls.sync_median_bytes:
        each = f" over a range of {size(facts.calls.sync_median_bytes)}"
    elif group.bytes and name not in classes.SYNC_CALLS:
        each = f" of {size(group.bytes / group.calls)} on average"
    cpu = ""
    if group.mean_cpu_ns is not None:
        cpu = f", of which {duration(group.mean_cpu_ns)} on a CPU"
    calls = plural(group.calls, "call")
    return link(
        f"{name}: {calls}{each}, {duration(group.mean_ns)} each{cpu}",
        group.mean_ns,
        "ns",
        facts.calls.report,
    )


def request_shape(facts: Facts) -> Link | None:
    """Size and order of the command's requests."""
    found = facts.requests
    if not found.known or found.median_bytes is None:
        return None
    jumps = ""
    if found.jump_share is not None:
        jumps = f"; {percent(found.jump_share)} do not start where the one queued before ended"
    return link(
        f"{count(found.count)} requests to {found.device}, median {size(found.median_bytes)}{jumps}",
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
        speed = f"; {facts.run.who} moves {rate(found.bytes * 1e9 / elapsed)}" if elapsed else ""
        return link(
            f"{found.device}: {percent(found.busy_share)} busy, queue depth {found.depth:.1f} (all processes){speed}",
            found.busy_share,
            "share",
            "devices",
        )
    device = facts.devices.top
    if device is None:
        return None
    wait = f", {duration(device.wait_ns)} a request" if device.wait_ns else ""
    depth = f" with {device.depth:.1f} requests in flight" if device.depth else ""
    busy = "" if device.busy_share is None else f" is {percent(device.busy_share)} busy{depth},"
    return link(
        f"{device.name}{busy} does {device.reads_per_s:,.0f} reads and {device.writes_per_s:,.0f} "
        f"writes/s, {rate(device.read_bytes_per_s + device.write_bytes_per_s)}{wait}",
        device.busy_share,
        "share",
        "devices",
    )


def machine_busy(facts: Facts) -> Link | None:
    """How busy all CPUs of the machine are."""
    busy = facts.machine.busy
    if busy is None:
        return None
    return link(f"the machine's CPUs are {percent(busy)} busy", busy, "share", "system")


def bound_cpus(facts: Facts) -> int | None:
    """The CPUs that the threads are bound to; None where they may run on all of the machine's, or that is not known."""
    allowed, cpus = facts.allowed_cpus, facts.machine.cpus
    return None if allowed is None or cpus is None or allowed >= cpus else allowed


def bound_to(facts: Facts) -> Link | None:
    """To how few of the machine's CPUs the threads are bound."""
    bound, cpus = bound_cpus(facts), facts.machine.cpus
    if bound is None:
        return None
    few = "1 CPU" if bound == 1 else f"{bound} CPUs"
    return link(f"{facts.run.who} may run on only {few} of {cpus}", bound, "CPUs", "threads")


def cpus_wanted(facts: Facts) -> Link | None:
    """How many CPUs the command uses, and how many its ready threads would."""
    used, wanted = facts.threads.cores_used, facts.threads.cores_wanted
    if used is None or wanted is None:
        return None
    bound = bound_cpus(facts)
    of = "" if facts.machine.cpus is None else f" of {facts.machine.cpus}"
    of = of if bound is None else f" of the {bound} that it may run on"
    return link(
        f"{facts.run.who} gets {used:.2f} CPUs{of} and could use {wanted:.2f}",
        wanted,
        "CPUs",
        "threads",
    )


class Loaded(Struct, frozen=True):
    """The most loaded device by its counters, whichever tool printed them; `shown` is the link of it."""

    name: str
    busy_share: float | None
    depth: float | None
    completed_per_s: float | None
    shown: Link | None


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
        f"{load.name} is {percent(load.busy_share)} busy with {load.queue:.1f} requests in flight",
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
        f"{found.who()} dirtied {size(dirtied)} on {facts.requests.device}",
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
    besides = "".join(
        f"; {count(one.count)} of {one.device}, {duration(one.time_ns / one.count)} each"
        for one in more[:2]
    )
    return link(
        f"{count(first.count)} cache flushes of {first.device} for {facts.run.who}, "
        f"{duration(first.time_ns / first.count)} each{besides}",
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
