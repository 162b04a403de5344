"""`sadf -d` and `sadf -p`: written from generated numbers and read back; outputs of sysstat 12."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reading import fixture, intervals, quick, read, values
from .test_written_and_read import COUNTS, shares

TITLES = ("%user", "%nice", "%system", "%iowait", "%steal", "%idle")


@quick
@given(instants=st.lists(st.tuples(shares(6), COUNTS, COUNTS), min_size=1, max_size=4), seconds=st.integers(1, 3600),
       lines=st.booleans(), epoch=st.booleans(), old=st.booleans())  # fmt: skip
def test_sadf(
    instants: list[tuple[list[int], int, int]], seconds: int, lines: bool, epoch: bool, old: bool
) -> None:
    tables: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [
        (("CPU", *TITLES), []),
        (("pgpgin/s", "pgpgout/s"), []),
        (("kbmemfree", "kbmemused", "%memused"), []),
        (("DEV", "tps", "rd_sec/s" if old else "rkB/s", "%util"), []),
    ]
    stamps = []
    for at, (cpu, paged, free) in enumerate(instants):
        when = 1_700_000_000 + (at + 1) * seconds
        stamps.append(str(when) if epoch else _utc(when))
        used = 3 * free
        tables[0][1].append(("-1", *(f"{share}.00" for share in cpu)))
        tables[1][1].append((f"{paged}.50", "0.00"))
        tables[2][1].append((str(free), str(used), "75.00" if free else "0.00"))
        tables[3][1].append(("dev8-0", "1.00", f"{paged}.00", "50.00"))
    text = ""
    for titles, rows in tables:
        if not lines:
            text += ";".join(("# hostname", "interval", "timestamp", *titles)) + "\n"
        for stamp, row in zip(stamps, rows, strict=True):
            if not lines:
                text += ";".join(("db1", str(seconds), stamp, *row)) + "\n"
                continue
            of = {"CPU": "all", "DEV": row[0]}.get(titles[0], "-")
            for title, cell in zip(titles, row, strict=True):
                if title not in ("CPU", "DEV"):
                    text += "\t".join(("db1", str(seconds), stamp, of, title, cell)) + "\n"
    parsed = read("sadf-text", text)
    assert not parsed.rejects and parsed.host["name"] == "db1"
    for one, (cpu, _, _) in zip(intervals(parsed, "cpu_samples", cpu=-1), instants, strict=True):
        assert one.interval_ns == seconds * 10**9
        assert one.counters["iowait_ns"] == pytest.approx(cpu[3] / 100 * one.interval_ns)
    for one, (_, paged, _) in zip(intervals(parsed, "vm_samples"), instants, strict=True):
        assert one.counters["page_in_bytes"] == pytest.approx((paged + 0.5) * 1024 * seconds)
    assert [row["free_bytes"] for row in parsed.tables["memory_samples"]] == [
        free * 1024 for _, _, free in instants
    ]
    disk = values(parsed, "dev8-0")
    assert disk["read_bytes_per_s"] == instants[-1][1] * (512 if old else 1024)
    assert disk["busy_share"] == 0.5
    free = next((free for _, _, free in instants if free), 0)
    assert parsed.host.get("memory_bytes") == (4 * free * 1024 or None)


def _utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def test_what_sysstat_12_prints() -> None:
    first, second = fixture("sadf-text", "sadf-12-d.txt"), fixture("sadf-text", "sadf-12-p.txt")
    assert first.intervals == second.intervals and first.tables == second.tables
    one = intervals(first, "cpu_samples", cpu=-1)[1]
    assert one.counters["system_ns"] == pytest.approx(0.1692 * 1e9)
    assert values(first, "vda")["operations_per_s"] == 38.61
    pressure = intervals(first, "pressure_samples", resource="cpu", kind="some")
    assert pressure[1].counters["total_ns"] == pytest.approx(0.3793 * 1e9)
    # kbmemused leaves the cache out since version 12: the sum with what is free is not the machine's memory.
    assert "memory_bytes" not in first.host


def test_a_restart_tells_the_cpus_and_no_row() -> None:
    text = "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
    text += "db1;-1;2024-03-04 10:00:00 UTC;LINUX-RESTART\t(8 CPU)\n"
    text += "db1;600;2024-03-04 10:10:00 UTC;-1;1.00;0.00;1.00;8.00;0.00;90.00\ndb1;600;rubbish;-1;1;2;3\n"
    parsed = read("sadf-text", text)
    assert parsed.host["cpus"] == 8 and len(parsed.intervals) == 1
    assert parsed.rejects == [(4, "db1;600;rubbish;-1;1;2;3")]
