"""A disk's own trouble stands in the chain of a finding about that disk, and of no other."""

from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.whys.verdict import judge
from tests.numbers_told import tells

HEAD = "Linux 5.4.0 (h) 01/02/2023 _x86_64_ (4 CPU)\n\n"
REPORT = (
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  2.0 0.0 3.0 80.0 0.0 15.0\n\n"
    "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda {} 0 {} 0 {} 0 {} 99\n\n"
)
SLOW = HEAD + REPORT.format(10, 160, 90, 0.9) * 6
FULL = HEAD + REPORT.format(300, 60000, 90, 32) * 6
SMART = "$ smartctl -A /dev/{}\nID# ATTRIBUTE_NAME FLAG VALUE WORST THRESH TYPE UPDATED WHEN_FAILED RAW_VALUE\n197 Current_Pending_Sector 0x0012 200 198 000 Old_age Always - {}\n"
MD = "Personalities : [raid1]\nmd2 : active raid1 sda1[1] sdb1[0]\n  19424 blocks [2/1] [U_]\n  [==>..]  recovery = 51.4% (1/2) finish=299.8min speed=52431K/sec\n"


@pytest.mark.parametrize(
    ("load", "cause", "beside", "said"),
    [
        (SLOW, "device-failing", SMART.format("sda", 3), ("sda", "3 sectors")),
        (FULL, "device-failing", SMART.format("sda", 3), ("sda", "3 sectors")),
        (SLOW, "device-slow", SMART.format("sdb", 3), None),
        (SLOW, "device-slow", SMART.format("sda", 0), None),
        ("", "device-failing", SMART.format("sdb", 3), ("sdb", "3 sectors")),
        (FULL, "device-saturated", MD, ("md2", "51.2 MiB/s", "51 %")),
        (FULL, "device-saturated", MD, ("md2", "1")),
        (SLOW, "device-failing", "$ dmesg\nblk_update_request: I/O error, dev sda, sector 5 op\n", ("1 I/O error", "sda")),
    ],
)  # fmt: skip
def test_what_is_reported(
    tmp_path: Path, load: str, cause: str, beside: str, said: tuple[str, ...] | None
) -> None:
    (tmp_path / "in.txt").write_text("$ iostat -x 1\n" + load + beside)
    found = judge(diagnose([str(tmp_path / "in.txt")], tmp_path / "out.iowhy").recording).findings[
        0
    ]
    assert found.cause == cause
    told = [link.statement for link in found.chain if link.report == "measurements"]
    if said is None:
        assert not told
    else:
        assert any(tells(text, *said) for text in told), told
