"""fio's summary tells how many syncs it made, how long they took, and how much each made durable."""

from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.whys.facts import Facts
from iowhy.whys.verdict import judge

TEXT = """a: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
fio-3.33
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=19113: Sun Nov 22 12:41:10 2026
  write: IOPS={iops}, BW={kib}KiB/s ({kb}kB/s)({total}KiB/4000msec); 0 zone resets
    clat (usec): min=11, max=59, avg=27.00, stdev= 6.50
     lat (usec): min=11, max=60, avg=27.70, stdev= 6.60
  fsync/fdatasync/sync_file_range:
    sync (usec): min=700, max=35980, avg={each_us}, stdev=3100.00
  cpu          : usr=0.00%, sys=1.00%, ctx=2000, majf=0, minf=15
     issued rwts: total=0,{writes},0,{syncs} short=0,0,0,0 dropped=0,0,0,0
"""


def text(writes: int, kib: int, syncs: int) -> str:
    """A run of four seconds, nine tenths of them in `syncs`."""
    return TEXT.format(
        iops=writes // 4, kib=kib * writes // 4, kb=kib * writes * 1024 // 4000, total=kib * writes,
        each_us=f"{3.6e6 / syncs:.2f}", writes=writes, syncs=syncs,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("writes", "kib", "syncs", "cause"),
    [
        (400, 4, 400, "sync-storm"),
        (4000, 4, 400, "sync-storm"),  # 40 KiB each
        (400, 16384, 400, None),  # 16 MiB each: no few bytes
        (8, 4, 8, None),  # no storm
    ],
)
def test_a_storm_is_told_by_counts_and_bytes(
    tmp_path: Path, writes: int, kib: int, syncs: int, cause: str | None
) -> None:
    (tmp_path / "fio.txt").write_text(text(writes, kib, syncs))
    recording = diagnose([str(tmp_path / "fio.txt")], tmp_path / "a.iowhy").recording
    with Facts(recording) as facts:
        assert facts.calls.syncs.calls == syncs
        assert facts.calls.syncs.total_ns == pytest.approx(3.6e9, rel=0.01)
        assert facts.calls.writes.done_bytes == pytest.approx(writes * kib * 1024, rel=0.02)
    findings = judge(recording).findings
    assert ([one.cause for one in findings][:1] or [None]) == [cause]
