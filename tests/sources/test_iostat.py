"""iostat of Linux, text and JSON, over its versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.names import Names, dev_number

from .reading import FIXTURES, fixture, intervals, quick, read, taken_apart, values

XVDB = dev_number(202, 16)


def test_published_output_of_case_4() -> None:
    parsed = fixture("iostat", "pagecache-large.iostat.txt")
    busy = intervals(parsed, "disk_samples", dev=XVDB)
    assert [one.counters["reads"] for one in busy] == pytest.approx([745, 739, 734, 750])
    assert busy[0].counters["read_bytes"] == 91656 * 1024
    # 745 reads that waited 33.84 ms each; 25.32 requests in the queue for 1 s; busy at most all the time.
    assert busy[0].counters["read_ns"] == pytest.approx(745 * 33.84e6)
    assert busy[0].counters["queue_ns"] == pytest.approx(25.32e9)
    assert busy[0].counters["busy_ns"] == 1e9
    cpu = intervals(parsed, "cpu_samples")
    assert len(cpu) == 4
    assert cpu[0].counters["iowait_ns"] == pytest.approx(0.2994e9)
    assert parsed.host["cpus"] == 16
    assert parsed.host["kernel"] == "4.4.0-1072-aws"


def test_first_report_is_no_load() -> None:
    parsed = fixture("iostat", "pagecache-large.iostat.txt")
    assert any("since boot" in note for note in parsed.notes)
    assert values(parsed, "xvdb")["since_boot_read_bytes_per_s"] == pytest.approx(5507.39 * 1024)
    # -y leaves that report out: then the first one is load.
    text = (FIXTURES / "pagecache-large.iostat.txt").read_text()
    assert len(intervals(read("iostat", text, "iostat -xzy 1"), "cpu_samples")) == 5


def test_a_device_that_z_left_out_was_idle() -> None:
    parsed = fixture("iostat", "pagecache-small.iostat.txt")
    idle = intervals(parsed, "disk_samples", dev=XVDB)
    assert [one.counters["reads"] for one in idle] == [0, 0, 0]
    assert [one.counters["writes"] for one in idle] == [0, 2, 0]


def test_old_layout_with_commas_and_sectors() -> None:
    parsed = fixture("iostat", "iostat-9-comma.txt")
    (sda,) = intervals(parsed, "disk_samples")
    assert sda.counters["written_bytes"] == 4800 * 512
    # One await for both directions; sda1 is a part of sda and not counted again.
    assert sda.counters["write_ns"] == pytest.approx(200 * 47.5e6)
    assert sda.counters["writes_merged"] == 120
    assert parsed.rejects == []


def test_plain_output_cannot_tell_reads_from_writes() -> None:
    parsed = fixture("iostat", "iostat-12-plain.txt")
    assert intervals(parsed, "disk_samples") == []
    assert "operations_per_s" in values(parsed, "vda")
    assert parsed.missing == ["iostat -x 1 10"]


def test_dates_give_the_interval() -> None:
    for file in ("iostat-12-x-iso.txt", "iostat-12-x-human.txt", "iostat-12-d-m-t.txt"):
        parsed = fixture("iostat", file)
        assert parsed.clock == "wall", file
        lengths = {one.interval_ns for one in parsed.intervals}
        assert lengths <= {1_000_000_000}, file
        assert parsed.rejects == [], file


def test_human_layout_splits_one_report_into_four_tables() -> None:
    parsed = fixture("iostat", "iostat-12-x-human.txt")
    vda = intervals(parsed, "disk_samples")
    assert {"reads", "writes", "discards", "flushes", "busy_ns"} <= vda[0].counters.keys()


def test_human_sizes_are_bytes() -> None:
    text = (
        "Linux 6.1.0 (host) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n"
        "     r/s     rkB/s Device\n   10.00     1.5M sda\n\n     w/s     wkB/s Device\n"
        "    2.00     20.0k sda\n"
    )
    (sda,) = intervals(read("iostat", text, "iostat -xyh 1"), "disk_samples")
    assert sda.counters["read_bytes"] == 1.5 * 2**20
    assert sda.counters["written_bytes"] == 20 * 1024


def test_json() -> None:
    parsed = fixture("iostat-json", "iostat-12.json")
    assert len(intervals(parsed, "cpu_samples")) == 2
    vda = [one for one in intervals(parsed, "disk_samples") if one.key["dev"] != 7 << 20]
    assert {"reads", "read_ns", "busy_ns", "queue_ns", "flushes"} <= vda[0].counters.keys()


def test_cut_at_both_ends() -> None:
    """Without its banner, and broken off inside a row."""
    text = (FIXTURES / "pagecache-large.iostat.txt").read_text().splitlines()
    result = taken_apart("\n".join(text[9:])[:-20])
    (part,) = result.parts
    assert part.format == "iostat"
    assert len(intervals(part.parsed, "cpu_samples")) == 4
    assert [number for number, _ in part.parsed.rejects] == [23]


RATES = st.floats(0, 99999, allow_nan=False).map(lambda value: round(value, 2))
ROW = st.fixed_dictionaries(
    dict.fromkeys(("r/s", "w/s", "rkB/s", "wkB/s", "r_await", "w_await", "aqu-sz"), RATES)
)


@quick
@given(
    reports=st.lists(st.dictionaries(st.sampled_from(["sda", "sdb", "nvme0n1"]), ROW), max_size=4),
    comma=st.booleans(),
    seconds=st.sampled_from([1, 2, 5]),
)
def test_what_is_written_is_read_back(
    reports: list[dict[str, dict[str, float]]], comma: bool, seconds: int
) -> None:
    names = ["r/s", "w/s", "rkB/s", "wkB/s", "r_await", "w_await", "aqu-sz"]
    lines = ["Linux 5.10.0 (h)  2024-05-01  _x86_64_  (8 CPU)", ""]
    for report in [{}, *reports]:
        lines.append("Device  " + "  ".join(names) + "  %util")
        for device, row in report.items():
            lines.append(
                device + "  " + "  ".join(f"{row[name]:.2f}" for name in names) + "  50.00"
            )
        lines.append("")
    text = "\n".join(lines)
    if comma:
        text = "\n".join(line.replace(".", ",") if line[:3] in ("sda", "sdb", "nvm") else line
                         for line in lines)  # fmt: skip
    parsed = read("iostat", text, f"iostat -xz {seconds}")
    numbers = Names()
    for device in {name for report in reports for name in report}:
        found = intervals(parsed, "disk_samples", dev=numbers.disk(device))
        if device == "nvme0n1":
            found = [one for one in intervals(parsed, "disk_samples")
                     if one.key["dev"] not in (8 << 20, 8 << 20 | 16)]  # fmt: skip
        assert len(found) == len(reports)
        for at, (one, report) in enumerate(zip(found, reports, strict=True)):
            row = report.get(device, dict.fromkeys(names, 0.0))
            assert one.start_ns == at * seconds * 10**9
            assert one.counters["reads"] == pytest.approx(row["r/s"] * seconds)
            assert one.counters["written_bytes"] == pytest.approx(row["wkB/s"] * 1024 * seconds)
            assert one.counters["read_ns"] == pytest.approx(
                row["r_await"] * 1e6 * row["r/s"] * seconds
            )
            assert one.counters["queue_ns"] == pytest.approx(row["aqu-sz"] * seconds * 1e9)
    assert parsed.rejects == []
