"""Boots each kernel, records programs with known counts in it, and prints what was found: `make test-kernels`."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import Recording, open_recording
from iowhy.sources.live import RECORDER, program

from . import (
    agent,
    drivers,
    filesystems,
    guest,
    host,
    limits,
    network,
    overlay,
    packages,
    proc,
    rest,
    smb,
    stacks,
    table,
    virtiofs,
)
from .check import Check, one

#: Packages of kernels, and what was recorded in each.
PLACE = Path(tempfile.gettempdir()) / "iowhy-kernels"
#: Calls, and what each recording is of. Direct reads and a file's pages in order show requests and the page cache.
WRITES, READS, FSYNCS, FDATASYNCS, OPENS, BLOCK = 503, 101, 7, 3, 11, 512
SEQUENTIAL = 4 * guest.MEBIBYTE
DIRECT_READS, DIRECT_BYTES = 97, 8192
PAGE = 4096
PLAIN = f"""
iowhy-record probe > /out/probe.json 2> /out/probe.err
record() {{ name=$1; shift; iowhy-record run --mode bpf --stacks -o /out/$name.iowhy -- "$@" > /out/$name.txt 2> /out/$name.err; }}
record calls iowhy-work calls --file /mnt/calls --writes {WRITES} --reads {READS} --fsyncs {FSYNCS} \\
  --fdatasyncs {FDATASYNCS} --opens {OPENS} --block {BLOCK}
record write iowhy-work seqwrite --file /mnt/write --bytes {SEQUENTIAL} --block 64K --fsync
record direct iowhy-work randread --file /mnt/write --reads {DIRECT_READS} --block {DIRECT_BYTES}
record locks sh -c 'flock /mnt/lock sleep 3 & sleep 1; flock /mnt/lock true; wait'
"""
SCRIPT = f"""
{PLAIN}
record uring operations /mnt/uring
record libaio operations /mnt/libaio libaio
{agent.script()}
{overlay.script()}
{stacks.script()}
{network.script()}
{smb.script()}
{filesystems.script()}
{host.script()}
{virtiofs.script()}
{drivers.script()}
{limits.script()}
{rest.script()}
"""
#: Sensors that run where they are asked for.
STARTED = ("user_stacks",)
#: What makes devices that lie on others, and filesystems. mdadm is unpacked, not installed (tools/setup test-kernels).
TOOLS = (
    Path("/sbin/dmsetup"),
    Path("/usr/bin/flock"),
    *(Path(f"/sbin/mkfs.{kind}") for kind in ("ext4", "xfs", "btrfs")),
    Path(__file__).parents[2] / "target/packages/mdadm/sbin/mdadm",
)


def checks(out: Path) -> Iterator[Check]:
    """Every known count against the recordings of a guest."""
    yield from plain(out)
    yield from _operations(out)
    yield from agent.checks(out)
    yield from overlay.checks(out)
    yield from stacks.checks(out)
    yield from network.checks(out)
    yield from smb.checks(out)
    yield from filesystems.checks(out)
    yield from host.checks(out)
    yield from virtiofs.checks(out)
    yield from drivers.checks(out)
    yield from limits.checks(out)
    yield from rest.checks(out)


def plain(out: Path) -> Iterator[Check]:
    """Calls, requests, pages and user stacks of the first recordings."""
    calls = open_recording(out / "calls.iowhy")
    counted = "SELECT count(*) FROM syscalls WHERE name = ? AND ino = (SELECT ino FROM files WHERE path = '/mnt/calls')"
    for name, expected in {
        "pwrite64": WRITES,
        "pread64": READS,
        "fsync": FSYNCS,
        "fdatasync": FDATASYNCS,
    }.items():
        yield Check(f"{name} calls", one(calls, counted, name), expected)
    parts = "SELECT count(*) FROM syscalls WHERE cpu_ns + runnable_ns + blocked_ns + sleeping_ns <> dur_ns AND ret IS NOT NULL"
    yield Check("calls whose parts are not their time", one(calls, parts), 0)
    # On a quick disk some find theirs done before they look.
    waited = "SELECT count(*) > 0 FROM syscalls WHERE name = 'fsync' AND blocked_ns > 0"
    yield Check("fsync calls wait", one(calls, waited), True)
    yield Check(
        "waits without a stack", one(calls, "SELECT count(*) FROM waits WHERE stack_id IS NULL"), 0
    )
    write = open_recording(out / "write.iowhy")
    yield Check(
        "pages dirtied",
        one(write, "SELECT sum(dirtied_pages) FROM page_cache"),
        SEQUENTIAL // PAGE,
    )
    written = (
        "SELECT sum(bytes) FROM block_requests WHERE op = 'write' AND owner_kind = 'data'"
        " AND owner_ino = (SELECT ino FROM files WHERE path = '/mnt/write')"
    )
    yield Check("bytes that the device got of the file", one(write, written), SEQUENTIAL)
    direct = open_recording(out / "direct.iowhy")
    read = written.replace("'write'", "'read'", 1)
    yield Check("bytes of direct reads", one(direct, read), DIRECT_READS * DIRECT_BYTES)
    yield from _user_stacks(calls)
    locks = open_recording(out / "locks.iowhy")
    held = "SELECT count(*), count(*) FILTER (holder_tgid IN (SELECT tgid FROM threads)) FROM lock_waits"
    yield Check(
        "waits for a lock, and of them those whose holder is known", one(locks, held), (1, 1)
    )
    for recording in (calls, write, direct, locks):
        yield Check(f"lost in {recording.path.stem}", recording.manifest.lost(), 0)


def _user_stacks(recording: Recording) -> Iterator[Check]:
    """Where the kernel takes their programs, nearly all reach the thread's start, and those of fsync name the file."""
    sensor = next(s for s in recording.manifest.sensors if s.name == "user_stacks")
    if not sensor.ran:
        yield Check("why there are no user stacks is said", bool(sensor.why), True)
        return
    # In execve a process has no program.
    whole = (
        "SELECT count(*) FILTER (whole) >= 0.95 * count(*) AND count(*) > 10 FROM stack_samples"
        " WHERE syscall IS DISTINCT FROM 'execve'"
    )
    yield Check("user stacks are whole", one(recording, whole), True)
    synced = (
        "SELECT count(*) > 0 FROM stack_samples WHERE syscall = 'fsync' AND kind = 'call'"
        " AND ino = (SELECT ino FROM files WHERE path = '/mnt/calls')"
    )
    yield Check("user stacks of fsync name their file", one(recording, synced), True)


#: What tests/live/operations.c does: operations, and bytes that they move. The read that fails is refused as it is
#: submitted before 5.16, and then is none.
OPERATIONS = {
    "uring": {
        "write": (40, 163840),
        "fsync": (40, None),
        "read_fixed": (30, 122880),
        "readv": (20, 81920),
    },
    "libaio": {"pwrite": (25, 204800), "preadv": (5, 40960), "fsync": (1, None)},
}


def _operations(out: Path) -> Iterator[Check]:
    """Operations of io_uring and libaio that ended on their file."""
    for name, expected in OPERATIONS.items():
        recording = open_recording(out / f"{name}.iowhy")
        for op, counts in expected.items():
            found = one(
                recording,
                "SELECT count(complete_ns), sum(moved_bytes) FROM async_operations WHERE op = ?"
                " AND ino = (SELECT ino FROM files WHERE path = ?)",
                op,
                f"/mnt/{name}",
            )
            yield Check(f"{op} operations of {name} and their bytes", found, counts)


def _compiled(folder: Path, name: str) -> Path:
    """A program of the live tests."""
    source = Path(__file__).parents[1] / f"live/{name}.c"
    program = folder / name
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    return program


def _missing(out: Path) -> Iterator[str]:
    """What the recorder says that this kernel cannot give."""
    for sensor in json.loads((out / "probe.json").read_text())["sensors"]:
        if sensor["why"] and sensor["name"] != "user_stacks":
            yield f"{sensor['name']}{'' if sensor['ran'] else ' (none)'}: {sensor['why']}"
    for sensor in open_recording(out / "calls.iowhy").manifest.sensors:
        if sensor.name == "user_stacks" and sensor.why:
            yield f"user_stacks: {sensor.why}"
    for sensor in agent.kept(out).manifest.sensors:
        if sensor.name.startswith("agent_syncs_") and sensor.why:
            yield f"{sensor.name}: {sensor.why}"


def lacking(out: Path) -> list[str]:
    """The sensors that this kernel does not have."""
    probed = json.loads((out / "probe.json").read_text())["sensors"]
    lacking = {one["name"] for one in probed if not one["ran"]}
    sensors = open_recording(out / "calls.iowhy").manifest.sensors
    return sorted(lacking | {one.name for one in sensors if one.name in STARTED and not one.ran})


def _place_of(folder: Path, suite: str) -> Path:
    return folder / f"run-{suite}"


def recordings_of(suite: str) -> Path:
    """Where what was recorded in the guest of a suite lies."""
    return _place_of(PLACE, suite) / "out"


def main(folder: Path, suites: list[str]) -> int:
    failed = 0
    own = [Path(program(RECORDER)), Path(program("iowhy-work"))]
    own += [_compiled(folder, name) for name in ("operations", "mapped")]
    programs = [*own, *TOOLS, *smb.programs()]
    for name in suites or packages.SUITES:
        kernel = packages.fetch(folder, name)
        place = _place_of(folder, kernel.suite)
        has_types = packages.SUITES[name].has_types
        script = SCRIPT if has_types else proc.script()
        disks = (*stacks.DISKS, *filesystems.DISKS)
        with virtiofs.served(place) as served:
            more = [*drivers.words(place), *served]
            out = guest.run(kernel, programs, script, place, disks, host.share(place), more)
        found = list(checks(out) if has_types else proc.checks(out))
        wrong = [check for check in found if not check.holds]
        failed += bool(wrong)
        print(
            f"{kernel.release} ({kernel.suite}): {len(found) - len(wrong)} of {len(found)} counts hold"
        )
        for check in wrong:
            print(f"  {check.name}: {check.found}, not {check.expected}")
        for line in _missing(out) if has_types else ():
            print(f"  without {line}")
        without = lacking(out) if has_types else ("eBPF: no type information (BTF)",)
        note = "" if has_types else ", of what /proc says"
        table.keep(name, kernel.release, packages.SUITES[name].title, found, without, note)
    return 1 if failed else 0


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    sys.exit(main(PLACE, sys.argv[1:]))
