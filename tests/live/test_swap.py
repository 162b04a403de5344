"""Swap: its requests are swap's, in both directions and whoever makes them; what zswap keeps in memory counts as swapped."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import Recording
from iowhy.relations import Relations
from machine import ask, disk_number, python, record, swap_on

#: The machine swaps meanwhile.
pytestmark = [pytest.mark.usefixtures("live"), pytest.mark.alone]

PAGE = 4096
LIMIT, SIZE = 32 << 20, 96 << 20
ZSWAP = Path("/sys/module/zswap/parameters/enabled")
#: Anonymous memory, three times what its group may have: filled, looked at again, and read into from a file.
FILLS = f"""
import mmap, sys
memory = mmap.mmap(-1, {SIZE}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pages = memoryview(memory)
for at in range(0, {SIZE}, {PAGE}):
    memory[at : at + 8] = at.to_bytes(8, "little")
for at in range(0, {SIZE}, {PAGE}):
    assert memory[at : at + 8] == at.to_bytes(8, "little")
with open(sys.argv[1], "rb", buffering=0) as file:
    for at in range(0, {SIZE}, 64 * {PAGE}):
        file.seek(0)
        assert file.readinto(pages[at : at + {PAGE}]) == {PAGE}
"""


@contextmanager
def limited() -> Iterator[Path]:
    """The processes of a control group that may have little memory."""
    old = Path("/sys/fs/cgroup/memory")
    root, limit = (
        (old, "memory.limit_in_bytes") if old.is_dir() else (Path("/sys/fs/cgroup"), "memory.max")
    )
    group = root / f"iowhy-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / limit).write_text(str(LIMIT))
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


@contextmanager
def zswap(enabled: bool) -> Iterator[None]:
    before = ZSWAP.read_text()
    ZSWAP.write_text("Y" if enabled else "N")
    try:
        yield
    finally:
        ZSWAP.write_text(before)


def counters() -> dict[str, int]:
    lines = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return {name: int(count) for name, count in lines}


def recorded(folder: Path) -> tuple[Recording, int, dict[str, int]]:
    """What was recorded of the program, the disk that it swapped to, and how the machine's counters grew."""
    file = folder / "file"
    file.write_bytes(bytes(PAGE))
    with limited() as processes, swap_on(folder) as disk:
        command = ["sh", "-c", f'echo $$ > {processes}; exec "$@"', "sh", *python(FILLS, file)]
        before = counters()
        recording = record(command, folder / "r.iowhy")
        grew = {name: count - before[name] for name, count in counters().items() if name in before}
        return recording, disk_number(disk), grew


@pytest.fixture
def no_other_swap(request: pytest.FixtureRequest) -> None:
    if len(Path("/proc/swaps").read_text().splitlines()) > 1:
        cannot_run(request, "this machine swaps to a disk of its own")
    if not ZSWAP.exists():
        cannot_run(request, "this kernel has no zswap")


@pytest.mark.usefixtures("no_other_swap")
def test_requests_of_swap_are_its_own_in_both_directions(tmp_path: Path) -> None:
    with zswap(False):
        recording, disk, grew = recorded(tmp_path)
    assert grew["pswpout"] > 0 and grew["pswpin"] > 0
    requests = ask(
        recording,
        "SELECT op, owner_kind, sum(bytes)::BIGINT FROM block_requests WHERE dev = ? GROUP BY ALL ORDER BY ALL",
        disk,
    )
    # Also where a call on a file made the thread read its own memory back.
    assert requests == [
        ("read", "swap", grew["pswpin"] * PAGE),
        ("write", "swap", grew["pswpout"] * PAGE),
    ]


@pytest.mark.usefixtures("no_other_swap")
def test_what_zswap_keeps_in_memory_is_swapped(tmp_path: Path) -> None:
    with zswap(True):
        recording, _, grew = recorded(tmp_path)
    assert grew["zswpout"] > 0 and grew["zswpin"] > 0
    told = ask(
        recording,
        "SELECT max(zswap_out_pages) - min(zswap_out_pages), max(zswap_in_pages) - min(zswap_in_pages),"
        " max(swap_out_pages) - min(swap_out_pages), max(swap_in_pages) - min(swap_in_pages) FROM vm_samples",
    )[0]
    counted = [grew[name] for name in ("zswpout", "zswpin", "pswpout", "pswpin")]
    # The first and the last reading lie within the run.
    assert all(0 <= found <= whole for found, whole in zip(told, counted, strict=True))
    assert told[0] > 0 and told[1] > 0
    with Relations(recording) as relations:
        assert relations.rows("SELECT swap_pages FROM machine_levels") == [(sum(told),)]
