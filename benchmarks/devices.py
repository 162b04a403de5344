"""Devices that are held at a rate, sick ones, and ones that look like them: what the verdict says of each, on runs nobody tuned by.

python -m benchmarks.devices record FOLDER [--seed N] [--seconds S] [--only WORD] [--times N] [--patience S]   (as root; WORD: a kind, made, capped, sick or controls)
python -m benchmarks.devices judge FOLDER

`record` goes on where it stopped, for so many seconds at most; figures of each run follow from the seed. What is judged may be judged again.
"""

# long: one table of kinds of devices, each beside those that look like it

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec import json as msgjson

from iowhy.experiments.load import resting
from iowhy.lab.scenario import Plan
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Choice, Stage, stage
from iowhy.lab.trial import record_plan
from iowhy.recordings import open_recording
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of

MIB = 1 << 20
SICK = ("device-failing", "device-slow")
SECONDS = 2.5
#: While others use more than that of the CPUs, a run waits to begin.
QUIET_CPUS = 0.2
#: The need is right within this of what free runs do; said as "at least", if they do no more than this above it.
NEAR = 0.1
LEAST = 0.3
#: From so many bytes a second on, free runs wait for the lab's disk itself (its `--megabytes-per-s`).
OWN_LIMIT = 0.75e9
#: Without its ceiling a run is so many times as fast, at least; else this machine is too slow or busy for it.
HELD = 1.5


class Run(Struct, frozen=True):
    """One run: what is true of it, and what was measured. `per_s`: the ceiling; `free_per_s`: the same work without it; `others_cpus`: what
    this machine did just before or after a part of it, at most."""

    kind: str
    seed: int
    right: tuple[str, ...]
    said: str
    per_s: float | None = None
    counts: str = "requests"
    free_per_s: tuple[float, ...] = ()
    others_cpus: float | None = None


class Made(Struct, frozen=True):
    """How a run is made. `free`: the same without the ceiling."""

    plan: Plan
    said: str
    per_s: float | None = None
    counts: str = "requests"
    free: Callable[[Stage], Plan] | None = None


Kind = Callable[[Stage, random.Random], Made]


def _log(choice: random.Random, low: float, high: float) -> float:
    return math.exp(choice.uniform(math.log(low), math.log(high)))


def _file(on: Stage, mebibytes: int, changes: tuple[str, ...], seed: int) -> Path:
    filesystem = on.filesystem(on.disk(max(256, 2 * mebibytes), changes=changes))
    return make_file(filesystem.path / "data", mebibytes * MIB, seed)


def _reader(
    on: Stage, seed: int, threads: int, block: int, changes: tuple[str, ...], seconds: float
) -> Plan:
    path = _file(on, 64, changes, seed)
    return Plan(
        work(
            "randread",
            file=path,
            threads=threads,
            block=block * 1024,
            seed=seed,
            for_seconds=seconds,
        )
    )


def _fio(path: Path, seconds: float, *words: str) -> Plan:
    return Plan(
        ("fio", "--name=w", f"--filename={path}", "--time_based", f"--runtime={seconds:.1f}", "--thread", "--direct=1", "--size=64M", "--output=/dev/null", *words)
    )  # fmt: skip


def _held(burst: Callable[[random.Random, float], float], *, bytes_: bool = False) -> Kind:
    """Random reads or writes, several at once, behind a bucket: as quick alone as a network volume, four times the ceiling at once."""

    def make(on: Stage, choice: random.Random) -> Made:
        # From 1.5 ms on the free runs wait for the device, and not for the CPUs of this machine.
        access_us = round(choice.choice((_log(choice, 200, 900), _log(choice, 1500, 4000))))
        threads = choice.choice((3, 4, 6, 8, 12))
        most = threads * 1e6 / (access_us + 120)
        rate = _log(choice, max(150, most / 20), min(5000, most / 3))
        block, counts = choice.choice((4, 8, 16)), "requests"
        if bytes_:
            block, counts = choice.choice((64, 128, 256)), "bytes"
            # The lab's disk itself moves no more than some hundred MB/s; and alone a request is quicker, or it is as a link.
            rate = min(rate, 60e6 / (block * 1024), 0.4e6 / (access_us + 300))
        per_s = rate * block * 1024 if bytes_ else rate
        cap = f"--cap-{counts}={per_s:.0f}:{burst(choice, per_s):.0f}"
        volume = (f"--access-us={access_us}", "--channels=64", "--megabytes-per-s=1000")
        writes = choice.random() < 0.3
        said = f"{'writes' if writes else 'reads'} {block}K x{threads} {access_us} us {cap[6:]}"

        def plan(on: Stage, more: tuple[str, ...] = ()) -> Plan:
            if not writes:
                return _reader(on, choice_seed, threads, block, (*volume, *more), SECONDS)
            path = _file(on, 64, (*volume, *more), choice_seed)
            return _fio(
                path, SECONDS, "--rw=randwrite", f"--bs={block}k", f"--numjobs={threads}",
                "--group_reporting", f"--randseed={choice_seed}",
            )  # fmt: skip

        choice_seed = choice.randrange(1, 10_000)
        return Made(plan(on, (cap,)), said, per_s, counts, plan)

    return make


def _credits(on: Stage, choice: random.Random) -> Made:
    rate, above = _log(choice, 300, 1000), _log(choice, 2200, 4000)
    threads, seconds = choice.choice((4, 8)), 4.0
    caps = (
        f"--cap-requests={rate:.0f}:{(above - rate) * choice.uniform(0.8, 1.6):.0f}",
        f"--cap-requests={above:.0f}:30",
    )
    volume = ("--access-us=500", "--channels=64", "--megabytes-per-s=1000")
    plan = _reader(on, choice.randrange(9999), threads, 4, (*volume, *caps), seconds)
    return Made(plan, f"x{threads} {caps[0][6:]}, before {above:.0f}", rate)


def _stall(on: Stage, choice: random.Random) -> Made:
    fault = f"--stall={choice.uniform(0.02, 0.12):.2f}+{choice.uniform(1.2, 3):.1f}"
    path = _file(on, 96, (fault,), choice.randrange(9999))
    block = choice.choice((16, 64, 256))
    words = ("dd", f"if={path}", "of=/dev/null", f"bs={block}K", "status=none")
    return Made(Plan(words, cold=True), f"{fault[2:]} dd {block}K")


def _late(on: Stage, choice: random.Random) -> Made:
    faults = (
        f"--late-share={_log(choice, 0.005, 0.05):.3f}",
        f"--late-ms={_log(choice, 60, 400):.0f}",
        f"--fault-seed={choice.randrange(99)}",
    )
    path = _file(on, 64, faults, choice.randrange(9999))
    words = ("dd", f"if={path}", "of=/dev/null", "bs=64K", "iflag=direct", "status=none")
    return Made(Plan(words), " ".join(one[2:] for one in faults[:2]))


def _slow_span(on: Stage, choice: random.Random) -> Made:
    """All requests of two of three seconds are late: a volume that is well before and after."""
    at, lasts = choice.uniform(0.3, 0.6), choice.uniform(1.8, 2.2)
    late = f"--late={at:.1f}+{lasts:.1f}"
    faults = (late, f"--late-ms={_log(choice, 8, 60):.0f}")
    plan = _reader(on, choice.randrange(9999), 1, choice.choice((4, 16, 64)), faults, 3.0)
    return Made(plan, " ".join(one[2:] for one in faults))


def _errors(on: Stage, choice: random.Random) -> Made:
    fault = f"--error-share={_log(choice, 0.003, 0.2):.3f}"
    path = _file(on, 64, (fault, f"--fault-seed={choice.randrange(99)}"), choice.randrange(9999))
    told = f"dd if={path} of=/dev/null bs=64K iflag=direct conv=noerror status=none 2>/dev/null; exit 0"
    return Made(Plan(("sh", "-c", told)), fault[2:])


def _twin(on: Stage, choice: random.Random) -> Made:
    """Two disks of a kind, of which one is slow: members that a program (or an array above) uses alike."""
    seed, slow = choice.randrange(9999), round(_log(choice, 2500, 12000))
    block = choice.choice((4, 16))
    paths = [_file(on, 16, extra, seed) for extra in ((), (f"--access-us={slow}",))]
    count = round(2e6 / (slow + 100))
    reads = [
        " ".join(
            work("randread", file=path, threads=1, block=block * 1024, seed=seed, reads=count * 4)
        )
        for path in paths
    ]
    return Made(Plan(("sh", "-c", " & ".join(reads) + " & wait")), f"{slow} us, {block}K")


def _flash(on: Stage, choice: random.Random) -> Made:
    channels, access_us = choice.choice((1, 2, 4, 8)), round(_log(choice, 80, 1500))
    threads = channels * choice.choice((2, 4))
    # One channel that takes the same for all is a clock; no chip does.
    spread = choice.uniform(0.3, 0.6) if channels < 4 else 0.0
    changes = (
        f"--channels={channels}",
        f"--access-us={access_us}",
        f"--access-spread={spread:.2f}",
    )
    plan = _reader(on, choice.randrange(9999), threads, choice.choice((4, 16)), changes, SECONDS)
    return Made(plan, f"{channels} channels {access_us} us x{threads}")


def _link(on: Stage, choice: random.Random) -> Made:
    rate, threads = choice.choice((150, 280, 550)), choice.choice((2, 4, 8))
    changes = (f"--megabytes-per-s={rate}", "--access-us=80")
    plan = _reader(
        on, choice.randrange(9999), threads, choice.choice((256, 512, 1024)), changes, SECONDS
    )
    return Made(plan, f"{rate} MB/s x{threads}")


def _media(on: Stage, choice: random.Random) -> Made:
    disk = on.disk(768, "hdd", (f"--megabytes-per-s={choice.choice((80, 150, 200))}",))
    path = make_file(on.filesystem(disk).path / "data", 384 * MIB, 1)
    way = choice.choice(("read", "write"))
    depth = choice.choice((1, 4, 16))
    return Made(
        _fio(path, SECONDS, f"--rw={way}", "--size=384M", "--bs=1M", "--ioengine=libaio", f"--iodepth={depth}"),
        f"{way} depth {depth}",
    )  # fmt: skip


def _seeks(on: Stage, choice: random.Random) -> Made:
    disk = on.disk(512, "hdd")
    path = make_file(on.filesystem(disk).path / "data", 192 * MIB, 1)
    way, depth = choice.choice(("randread", "randwrite")), choice.choice((1, 4, 16))
    block = choice.choice((4, 64))
    words = (f"--rw={way}", "--size=192M", f"--bs={block}k", "--ioengine=libaio", f"--iodepth={depth}")  # fmt: skip
    return Made(_fio(path, SECONDS, *words), f"{way} {block}K depth {depth}")


def _throttle(on: Stage, choice: random.Random) -> Made:
    """A limit of a control group."""
    path = _file(on, 128, (), 1)
    number, rate = on.disks[0].number, round(_log(choice, 5, 40)) * MIB
    knobs = {"blkio.throttle.read_bps_device": {1: f"{number} {rate}"}, "io.max": {2: f"{number} rbps={rate}"}}  # fmt: skip
    prefix = on.limited("io", knobs)
    threads, block = choice.choice((1, 4)), choice.choice((16, 128))
    plan = work("randread", file=path, threads=threads, block=block * 1024, for_seconds=SECONDS)
    return Made(Plan((*prefix, *plan)), f"{rate // MIB} MiB/s {block}K x{threads}")


def _neighbour(on: Stage, choice: random.Random) -> Made:
    path = _file(on, 64, (), 1)
    others = make_file(path.parent / "others", 64 * MIB, 2)
    threads = choice.choice((2, 4, 8))
    on.neighbour(
        work("randread", file=others, threads=threads, block="128K", for_seconds=60, seed=3)
    )
    plan = work("randread", file=path, threads=1, block=choice.choice((4, 64)) * 1024, for_seconds=2.5)  # fmt: skip
    return Made(Plan(plan), f"{threads} others")


def _flushes(on: Stage, choice: random.Random) -> Made:
    flush = round(_log(choice, 1, 20))
    path = _file(on, 64, (f"--flush-ms={flush}",), 1)
    jobs = choice.choice((1, 4))
    return Made(
        _fio(path, SECONDS, "--rw=randwrite", "--bs=4k", "--fdatasync=1", f"--numjobs={jobs}"),
        f"flush {flush} ms x{jobs}",
    )


def _alone(on: Stage, choice: random.Random) -> Made:
    access_us = round(_log(choice, 80, 2000))
    plan = _reader(
        on,
        choice.randrange(9999),
        1,
        choice.choice((4, 16, 64)),
        (f"--access-us={access_us}",),
        SECONDS,
    )
    return Made(plan, f"{access_us} us")


def _one_of_capped(on: Stage, choice: random.Random) -> Made:
    """One at a time of a volume with a limit that it does not reach."""
    changes = ("--access-us=600", "--channels=64", f"--cap-requests={_log(choice, 2500, 6000):.0f}")
    plan = _reader(on, choice.randrange(9999), 1, 4, changes, SECONDS)
    return Made(plan, changes[2][6:])


def _ms(least: float, most: float) -> Callable[[random.Random, float], float]:
    return lambda choice, per_s: max(1.0, per_s * _log(choice, least, most) / 1e3)


CAPPED: dict[str, Kind] = {
    "requests": _held(_ms(20, 1000)),
    "requests, strict": _held(_ms(1, 10)),
    "bytes": _held(_ms(20, 300), bytes_=True),
    "bytes, strict": _held(_ms(5, 10), bytes_=True),
    "credits": _credits,
}
SICKS: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "stall": (_stall, ("device-slow",)),
    "late answers": (_late, ("device-slow",)),
    "slow for a while": (_slow_span, ("device-slow",)),
    "errors": (_errors, ("device-failing",)),
    "slow twin": (_twin, ("device-slow",)),
}
CONTROLS: dict[str, Kind] = {
    "flash at its limit": _flash,
    "link": _link,
    "media rate": _media,
    "seeks": _seeks,
    "group's limit": _throttle,
    "neighbour": _neighbour,
    "flushes": _flushes,
    "queue of one": _alone,
    "one of a capped": _one_of_capped,
}
KINDS: dict[str, tuple[Kind, tuple[str, ...]]] = {
    **{name: (kind, ("device-capped",)) for name, kind in CAPPED.items()},
    **SICKS,
    **{name: (kind, ()) for name, kind in CONTROLS.items()},
}


def _recorded(
    kind: Kind, seed: int, out: Path, patience_s: float
) -> tuple[Made, tuple[float, ...], float]:
    """The recording, requests a second of two later runs without the ceiling, and what others used of the CPUs."""
    choice = Choice(fs="ext4", device="ssd", seed=seed)
    _quiet(patience_s)
    with stage(choice) as on:
        made = kind(on, random.Random(seed))
        used = [_run(on, made.plan, out)]
    free = []
    for number in (1, 2) if made.free is not None else ():
        kept = out.with_name(f"{out.stem}-free{number}.iowhy")
        _quiet(patience_s)
        with stage(choice) as on:
            used.append(_run(on, made.free(on), kept))
        free.append(_rate(kept))
    return made, tuple(free), max(used)


def _quiet(patience_s: float) -> None:
    """Waits until others rest, for so long at most."""
    until = time.monotonic() + patience_s
    while resting().cpus > QUIET_CPUS and time.monotonic() < until:
        time.sleep(1)


def _run(on: Stage, plan: Plan, out: Path) -> float:
    """Records it; what others use of the CPUs before or after it, the higher."""
    for filesystem in on.filesystems:
        filesystem.sync()
        if plan.cold:
            filesystem.cool()
    before = resting().cpus
    on.start_clock()
    record_plan(plan, out, on.undo.kill_marked()[1])
    on.stop_clock()
    return max(before, resting().cpus)


def _rate(path: Path) -> float:
    """Requests of the command a second, in the middle of its run."""
    with facts_of(open_recording(path)) as facts:
        return facts.relations.value(
            float,
            """
            SELECT count(*) FILTER (queue_ns BETWEEN a + (b - a) // 4 AND b - (b - a) // 4) * 2e9 / any_value(b - a)
            FROM block_requests, (
              SELECT quantile_cont(queue_ns, 0.01) AS a, quantile_cont(queue_ns, 0.99) AS b FROM block_requests WHERE in_scope
            ) WHERE in_scope AND op IN ('read', 'write')
            """,
        ) or 0.0  # fmt: skip


def record(
    folder: Path, seed: int, seconds: float, only: str, times: int, patience_s: float
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + seconds
    for turn in range(times):
        for place, (name, (kind, right)) in enumerate(KINDS.items()):
            own = seed * 1000 + turn * 50 + place
            note = folder / f"{own}.json"
            groups = (
                ("controls",)
                if name in CONTROLS
                else ("made", "capped" if name in CAPPED else "sick")
            )
            if (only and only not in (*groups, name)) or note.exists():
                continue
            if time.monotonic() > until:
                print("not done: call again", flush=True)
                return
            made, free, used = _recorded(kind, own, folder / f"{own}.iowhy", patience_s)
            run = Run(name, own, right, made.said, made.per_s, made.counts, free, round(used, 2))
            note.write_bytes(msgjson.encode(run))
            print(name, own, made.said, [round(one) for one in free], f"{used:.2f}", flush=True)
    print("done", flush=True)


def _judged(run: Run, path: Path) -> dict[str, object]:
    """What the verdict says; `ok` that it says what is so."""
    with facts_of(open_recording(path)) as facts:
        found = [one for one in verdict_of(facts).findings if not one.healthy]
        ceiling = facts.ceiling
    names = [one.cause for one in found]
    ok = (names[:1] == list(run.right)) if run.right else not {"device-capped", *SICK} & set(names)
    row: dict[str, object] = {"kind": run.kind, "seed": run.seed, "ok": ok, "said": run.said, "found": names}  # fmt: skip
    if run.free_per_s and min(run.free_per_s) < HELD * _rate(path):
        row["not held"] = True  # the machine is what it waits for
    each_bytes = 0.0 if ceiling is None else ceiling.each_bytes
    if max(run.free_per_s, default=0.0) * each_bytes >= OWN_LIMIT:
        row["own limit"] = True
    if (run.others_cpus or 0.0) > QUIET_CPUS:
        row["busy"] = True  # what free runs do is decided by whom they share the machine with
    if run.per_s and ceiling is not None:
        per_s = ceiling.bytes_per_s if run.counts == "bytes" else ceiling.requests_per_s
        row["off"] = per_s / run.per_s - 1
        row["by"] = ceiling.by
    needs = [one for cause in found for one in cause.chain if one.statement.id == "device-capped.needs"]  # fmt: skip
    if run.free_per_s and needs:
        free = sum(run.free_per_s) / len(run.free_per_s)
        row["need_off"] = needs[0].value / free - 1
        row["at_least"] = "at least" in str(needs[0].statement)
        row["free_off"] = run.free_per_s[0] / run.free_per_s[-1] - 1
    return row


def judge(folder: Path) -> None:
    rows = []
    for note in sorted(folder.glob("*.json")):
        run = msgjson.decode(note.read_bytes(), type=Run)
        rows.append(_judged(run, note.with_suffix(".iowhy")))
        print(json.dumps(rows[-1]), flush=True)
    print("\n| what | runs | right | ceiling within | need within 10 % | free runs within 10 % |")
    print("|---|--:|--:|--:|--:|--:|")
    for kind in KINDS:
        own = [row for row in rows if row["kind"] == kind and "not held" not in row]
        off = [abs(row["off"]) for row in own if "off" in row]
        fair = [row for row in own if "need_off" in row and not {"busy", "own limit"} & set(row)]
        need = [
            -LEAST <= row["need_off"] <= NEAR if row["at_least"] else abs(row["need_off"]) <= NEAR
            for row in fair
        ]
        free = [abs(row["free_off"]) <= NEAR for row in fair]
        print(
            f"| {kind} | {len(own)} | {sum(bool(row['ok']) for row in own)} "
            f"| {f'{max(off):.1%}' if off else ''} | {f'{sum(need)} of {len(need)}' if need else ''} "
            f"| {f'{sum(free)} of {len(free)}' if free else ''} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("record", "judge"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=280)
    parser.add_argument("--only", default="")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--patience", type=float, default=60)
    options = parser.parse_args()
    if options.what == "judge":
        judge(options.folder)
    else:
        record(
            options.folder,
            options.seed,
            options.seconds,
            options.only,
            options.times,
            options.patience,
        )


if __name__ == "__main__":
    main()
