"""Evidence of a part of what happened bounds what is said of the whole."""

from pathlib import Path

from iowhy.whys.confidence import PART
from tests.sources.reading import verdict

SCREEN = (
    "top - 10:15:0{} up 10 days,  2 users,  load average: 12.10, 11.22, 9.03\n"
    "%Cpu(s): 95.0 us,  4.0 sy,  0.0 ni,  1.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n"
)
ETCD = 'etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 5\netcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 9\n'
IOSTAT = (
    "Linux 5.4.0 (h) 01/02/2023 _x86_64_ (4 CPU)\n\n"
    + (
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  2.0 0.0 3.0 80.0 0.0 15.0\n\n"
        "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda 300 400 60000 800 90 90 32 99\n\n"
    )
    * 6
)


def test_one_screen_is_no_proof_of_the_time(tmp_path: Path) -> None:
    one = verdict(tmp_path / "one", SCREEN.format(1)).findings[0]
    several = verdict(
        tmp_path / "several", "\n".join(SCREEN.format(at) for at in (0, 3, 6, 9))
    ).findings[0]
    assert one.cause == several.cause == "cpu-saturated" and one.share > 0.9
    assert one.confidence <= PART < several.confidence
    assert any("one screen of top" in reason for reason in one.lowered_by)
    assert one.share_of == "the time shown" and several.share_of == "the time"


def test_a_part_beside_a_whole_lowers_nothing(tmp_path: Path) -> None:
    alone = verdict(tmp_path / "alone", IOSTAT).findings[0]
    beside = verdict(tmp_path / "beside", IOSTAT + "\n" + ETCD).findings[0]
    assert (beside.cause, beside.confidence, beside.share_of) == (
        alone.cause,
        alone.confidence,
        "the time",
    )
    # A whole of the same kind takes the part's place.
    mixed = verdict(tmp_path / "mixed", IOSTAT + "\n" + SCREEN.format(1)).findings[0]
    assert mixed.confidence == alone.confidence
