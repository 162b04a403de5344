"""What is in the set, how each case is made, and what is right for it: `python -m benchmark.cases` writes index.json.

Labels come from how a case was made: the lab's scenarios know their cause; of real programs, what the remedy saves is measured; texts are
written by a machine whose truth is known; a thinned recording has its whole one's label; of two commands one after the other, each has its own.
"""

import json
from binascii import crc32
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, toml
from msgspec.structs import asdict

from benchmarks.programs.__main__ import HERE as PROGRAMS
from benchmarks.programs.__main__ import Case as Program
from iowhy.lab.scenario import Variant
from iowhy.lab.scenarios import scenario
from iowhy.tables import sensors
from iowhy.whys.causes import cause_named
from tests.docs.recordings import Kept, kept
from tests.sources import machines
from tests.sources.test_generated_machines import (
    COMPUTES,
    DISK,
    IDLE,
    REMOTE,
    SINCE_BOOT,
    STUCK,
    THRASHES,
    THROTTLED,
)

INDEX = Path(__file__).with_name("index.json")
#: Of each real program that was tried, the share of its time that the remedy saved (make.py); it is a case if that is more than what is left,
#: as another cause could take more otherwise.
SAVED, ENOUGH = Path(__file__).with_name("saved.json"), 0.5
#: Decides which third is held apart.
SEED = 46
LEVELS = {
    1: "one cause",
    2: "one cause, and a confounder next to it",
    3: "the decisive evidence is missing",
    4: "two causes, or noisy but healthy",
}
#: What a table without rows is said to be: not at all, lost, or not recorded.
WAYS = ("silent", "announced", "off")
#: Without what a cause that says nothing else cannot be seen.
USUAL = ("block_requests", "waits")

#: Of a real program, how many causes may be right.
MOST_RIGHT = 3

#: Run with its cause: the name of a scenario, on a filesystem. Those of docs/recordings are on the scenario's first one.
ALONE = """
cold-pass xfs, cold-pass btrfs, smallfiles xfs, smallfiles btrfs, dd-direct xfs, dd-direct btrfs, io-throttled xfs, passes xfs,
cold-tree xfs, cold-tree btrfs, sqlite-flush xfs, sqlite-journal ext4, sqlite-journal xfs, redis-always ext4, dd-dsync ext4,
dd-dsync xfs, shell-log ext4, git-add ext4, git-status xfs, tar-tree ext4, rm-tree ext4, grep-tree ext4, rsync-fsync ext4,
lmdb-dump ext4, rocksdb-sync ext4, parallel-readers ext4, parallel-readers xfs, deep-reader xfs, shallow-reader xfs, slow-disk xfs,
late-answers ext4, slow-twin ext4, stalling-disk xfs, failing-disk xfs, capped-bytes ext4, capped-credits ext4, capped-requests xfs,
partial-writes xfs, copy-up-write ext4, mmap-random xfs, checksum-thrice ext4, cache-dropped ext4, lock-convoy xfs, python-csv ext4,
java-unbuffered ext4, sync-behind-others ext4, noisy-neighbour xfs, dirty-throttled xfs, many-headers xfs, reclaim xfs
"""
#: Run next to others who cost it nothing: they take what CPUs are idle, or write to another disk.
CONFOUNDED = """
cold-pass cpus, smallfiles cpus, dd-direct cpus, io-throttled cpus, passes cpus, cold-tree cpus, sqlite-flush cpus, dd-dsync cpus,
parallel-readers cpus, deep-reader cpus, slow-disk cpus, failing-disk cpus, capped-requests cpus, partial-writes cpus, copy-up cpus,
mmap-random cpus, full-filesystem cpus, cold-pass disk, smallfiles disk, dd-direct disk, io-throttled disk, passes disk,
cold-tree disk, sqlite-flush disk, cpu-only disk, cpu-quota disk, cpu-pinned disk, lock-convoy disk, late-answers disk,
shallow-reader disk, data-journal disk, journal-bulk disk
"""
#: Healthy, next to the same: a scenario, its variant without the cause, and who is next to it.
NOISY = """
idle-server idle cpus, idle-server idle disk, network-wait client cpus, network-wait client disk, cold-pass warm disk,
git-status warm disk, copy-up mode disk, cold-tree warm disk, slow-disk in-time disk, dd-dsync end disk
"""
#: One after the other, on a kind of disk.
PAIRS = """
smallfiles cold-pass hdd, dd-dsync cold-tree hdd, cpu-only smallfiles hdd, sqlite-flush cold-pass hdd, cpu-only cold-pass hdd,
dd-direct cpu-only ssd, cold-tree smallfiles hdd, cpu-only dd-dsync hdd
"""


class Case(Struct, frozen=True):
    """One recording or text: `right` are the causes that are right as the first one, the best first; `second`, those of which
    one is there as well. `made` is what make.py makes it of; `saves` the share of its time that the remedy saved, where that was tried.
    """

    name: str
    level: int
    kind: str
    right: tuple[str, ...]
    made: dict[str, str]
    second: tuple[str, ...] = ()
    saves: float | None = None

    @property
    def held(self) -> bool:
        """Whether it is of the third that nobody looks at while a diagnosis is made better."""
        return crc32(f"{SEED} {self.name}".encode()) % 3 == 0

    @property
    def file(self) -> str:
        """Its name below the folder of data."""
        return f"{self.name}.{'txt' if self.kind == 'text' else 'iowhy'}"


def cases() -> tuple[Case, ...]:
    """All of them."""
    return (*_kept(), *_run(), *_programs(), *_thinned(), *_texts())


def _words(text: str) -> Iterator[list[str]]:
    return (one.split() for one in text.replace("\n", " ").split(",") if one.strip())


def _label(one: Kept) -> tuple[str, ...]:
    """What is right for a kept recording; nothing where only what is found says so."""
    if "scenario" in one.of:
        return _right(one.of["scenario"], one.of["variant"])
    return ("remote-storage",) if one.of.get("guest") == "nfs" else ()


def _right(name: str, variant: str | None = None, device: str | None = None) -> tuple[str, ...]:
    known = scenario(name)
    return _variant(name, variant).right_on(device or known.devices[0])


def _variant(name: str, variant: str | None) -> Variant:
    known = scenario(name)
    return known.broken if variant is None else known.variant(variant)


def _kept() -> Iterator[Case]:
    for one in kept():
        right = _label(one)
        if right:
            level = 4 if "healthy" in right else 1
            yield Case(f"kept-{one.name}", level, "recording", right, {"kept": one.name})


def _run() -> Iterator[Case]:
    for name, fs in _words(ALONE):
        made = {"scenarios": name, "fs": fs, "seed": "2"}
        yield Case(f"{name}-{fs}", 1, "recording", _right(name), made)
    for name, beside in _words(CONFOUNDED):
        made = {"scenarios": name, "beside": beside, "seed": "3"}
        yield Case(f"{name}-beside-{beside}", 2, "recording", _right(name), made)
    for name, variant, beside in _words(NOISY):
        made = {"scenarios": name, "variant": variant, "beside": beside, "seed": "4"}
        right = tuple(dict.fromkeys(("healthy", *_right(name, variant))))
        yield Case(f"{name}-{variant}-beside-{beside}", 4, "recording", right, made)
    for first, second, device in _words(PAIRS):
        made = {"scenarios": f"{first} {second}", "device": device, "seed": "5"}
        rights = (_right(first, device=device), _right(second, device=device))
        yield Case(f"{first}-then-{second}", 4, "recording", rights[0], made, rights[1])


def _programs() -> Iterator[Case]:
    """Real programs, each with a remedy that saves much of its time: make.py tries it."""
    saved: dict[str, float] = json.loads(SAVED.read_text())
    for file in sorted(PROGRAMS.glob("*.toml")):
        right = toml.decode(file.read_text(), type=Program).causes
        # What many causes would be right for says nothing.
        if len(right) <= MOST_RIGHT and all(map(cause_named, right)):
            saves = saved.get(file.stem)
            made = {"program": file.stem}
            yield Case(f"program-{file.stem}", 1, "recording", right, made, saves=saves)


def _thinned() -> Iterator[Case]:
    """Each kept recording without a table that its cause cannot be seen without; each way for every third."""
    at = 0
    for one in kept():
        cause = cause_named(one.cause)
        if cause is None or not _label(one) or cause.name == "healthy":
            continue
        for sensor in cause.unseen_without or USUAL:
            for way in (WAYS[at % 3], WAYS[(at + 1) % 3]):
                made = {"kept": one.name, "without": " ".join(sensors()[sensor].tables), "way": way}
                made |= {"sensor": sensor}
                yield Case(f"{one.name}-without-{sensor}-{way}", 3, "recording", _label(one), made)
            at += 1


def _texts() -> Iterator[Case]:
    for truth, of, right, level, tools in (
        ("computes", COMPUTES, ("cpu-saturated", "cpu-serial", "cpu-delayed"), 1, _tools(cpu=True)),
        ("disk", DISK, ("device-saturated",), 1, (*_tools(disk=True), "sadf")),
        ("stuck", STUCK, ("device-slow",), 1, (*_tools(disk=True), "sadf")),
        ("thrashes", THRASHES, ("memory-pressure",), 1, _tools(swap=True)),
        ("stolen", THROTTLED, ("cpu-throttled",), 1, _tools(steal=True)),
        ("idle", IDLE, ("healthy",), 4, _tools(cpu=True)),
        ("remote", REMOTE, ("remote-storage",), 3, sorted(machines.TOOLS)),
    ):
        for tool in tools:
            made = {"tool": tool, "machine": json.dumps(fields_of(of))}
            yield Case(f"{truth}-{tool}", level, "text", right, made)
    for tool in SINCE_BOOT:  # only the first report, an average since boot
        made = {"tool": tool, "machine": json.dumps(fields_of(DISK)), "samples": "0"}
        yield Case(f"since-boot-{tool}", 3, "text", ("device-saturated",), made)


def fields_of(of: machines.Machine) -> dict[str, object]:
    """Its fields."""
    return {name: getattr(of, name) for name in of.__dataclass_fields__}


def _tools(**has: bool) -> tuple[str, ...]:
    every = machines.TOOLS.items()
    return tuple(sorted(n for n, t in every if all(getattr(t, k) == v for k, v in has.items())))


def index() -> str:
    """All that a user of the set needs, as JSON; of real programs, those whose remedy was seen to save enough."""
    rows = [
        {**asdict(one), "file": one.file, "held": one.held}
        for one in sorted(cases(), key=lambda one: (one.level, one.name))
        if "program" not in one.made or (one.saves or 0) >= ENOUGH
    ]
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


if __name__ == "__main__":
    INDEX.write_text(index())
