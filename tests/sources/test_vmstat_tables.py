"""`vmstat -d` and `vmstat -s`: written from generated data and read back; what procps 4 prints."""

from hypothesis import given
from hypothesis import strategies as st

from .reading import fixture, intervals, quick, read
from .test_written_and_read import COUNTS

NARROW = "disk- ------------reads------------ ------------writes----------- -----IO------"


@quick
@given(disks=st.dictionaries(st.sampled_from(["sda", "sdb", "nvme0n1", "vda"]), st.lists(COUNTS, min_size=10, max_size=10),
       min_size=1), times=st.integers(1, 4), seconds=st.integers(1, 60), dated=st.booleans(), wide=st.booleans())  # fmt: skip
def test_disks(
    disks: dict[str, list[int]], times: int, seconds: int, dated: bool, wide: bool
) -> None:
    head = NARROW.replace("------------", "-" * 19) if wide else NARROW
    text = ""
    for at in range(times):
        text += (
            head
            + " -----timestamp-----" * dated
            + "\n       total merged sectors      ms  total merged sectors      ms    cur    sec\n"
        )
        for name, numbers in disks.items():
            when = at * seconds
            stamp = f" 2025-03-09 00:{when // 60:02}:{when % 60:02}" if dated else ""
            text += f"{name:<5} " + " ".join(str(n * (at + 1)) for n in numbers) + stamp + "\n"
    parsed = read("vmstat-disks", text, "" if dated else f"vmstat -d {seconds}")
    assert not parsed.rejects
    found = intervals(parsed, "disk_samples")
    assert len(found) == len(disks) * (times - 1)
    for one, numbers in zip(found, list(disks.values()) * (times - 1), strict=True):
        assert one.interval_ns == seconds * 10**9 and "busy_ns" not in one.counters
        assert one.counters["read_bytes"] == numbers[2] * 512
        assert one.counters["write_ns"] == numbers[7] * 10**6
        assert one.levels["in_flight"] % (numbers[8] or 1) == 0
    assert ("vmstat -d 10 2" in parsed.missing) == (times == 1)


@quick
@given(
    memory=COUNTS,
    ticks=st.lists(COUNTS, min_size=8, max_size=8),
    paged=COUNTS,
    old=st.booleans(),
    twice=st.booleans(),
)
def test_counters(memory: int, ticks: list[int], paged: int, old: bool, twice: bool) -> None:
    names = ("non-nice user", "nice user", "system", "idle", "IO-wait", "IRQ", "softirq", "stolen")
    text = (
        f"{memory + 1:>13} K total memory\n{memory:>13} K used memory\n{memory:>13} K free memory\n"
    )
    text += "".join(f"{n:>13} {name} cpu ticks\n" for n, name in zip(ticks, names, strict=True))
    text += f"{paged:>13} {'pages' if old else 'K'} paged in\n            3 pages swapped in\n     12 boot time\n"
    parsed = read("vmstat-s", text * (1 + twice))
    assert not parsed.rejects and len(parsed.snapshots) == 2 * (1 + twice)
    assert parsed.tables["memory_samples"][0]["free_bytes"] == memory * 1024
    cpu, machine = parsed.snapshots[:2]
    assert cpu.counters["user_ns"] == (ticks[0] + ticks[1]) * 10**7
    assert cpu.counters["irq_ns"] == (ticks[5] + ticks[6]) * 10**7
    assert machine.counters == {"page_in_bytes": paged * 1024, "swap_in_pages": 3}


def test_what_procps_4_prints() -> None:
    for file in ("vmstat-4-d.txt", "vmstat-4-d-wide.txt"):
        parsed = fixture("vmstat-disks", file)
        assert not parsed.intervals and not parsed.rejects
    parsed = fixture("vmstat-s", "vmstat-4-s.txt")
    assert not parsed.rejects and parsed.host["memory_bytes"] == 24684084 * 1024
    assert parsed.snapshots[0].counters["iowait_ns"] == 43514 * 10**7
    assert parsed.snapshots[1].counters["page_out_bytes"] == 405283173 * 1024
