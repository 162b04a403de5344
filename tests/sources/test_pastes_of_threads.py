"""What threads about slow machines have in them, as small texts made up for it: what the first sentence has, and what it must not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import diagnose
from iowhy.whys.facts import facts_of
from iowhy.whys.statements import benchmarks
from tests.numbers_told import tells

from .reading import quick, read, taken_apart, verdict

_CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
_DISK = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
_TOP = "top - 10:11:12 up 3 days,  1:02,  1 user,  load average: {}\nTasks: 80 total,   1 running,  79 sleeping,   0 stopped,   0 zombie\n"
_STATES = "%Cpu(s):  {} us,  {} sy,  0.0 ni, {} id, {} wa,  0.0 hi,  {} si,  0.0 st\n"
_TASKS = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
_KERNEL = "[ 100.000001] "

#: Text → the cause of the first finding (None: none), and the numbers that the first sentence has.
SAYS: dict[str, tuple[str, str | None, tuple[str, ...]]] = {
    "fio: how long a write takes, not that writing takes the time": (
        "job: (groupid=0, jobs=8): err= 0: pid=9: Fri Nov 11 10:49:38 2022\n"
        "  write: IOPS=400, BW=1600KiB/s (1638kB/s)(94MiB/60017msec)\n     lat (msec): min=5, max=271, avg=20.00, stdev=16.00\n",
        None,
        ("4 KiB", "20 ms", "400", "8"),
    ),
    "an average that was cut off: the rate": (
        "job: (groupid=0, jobs=1): err= 0: pid=9: Fri Nov 11 10:49:38 2022\n  read: IOPS=300, BW=1200KiB/s (1229kB/s)(70MiB/60017msec)\n",
        None,
        ("300", "4 KiB"),
    ),
    "kswapd without rest, next to nothing available, in a screen with the CPUs' time": (
        _TOP.format("9.0, 9.0, 9.0") + _STATES.format("1.0", "9.0", " 0.0", "90.0", "0.0")
        + "MiB Mem :  64000.0 total,    900.0 free,  63000.0 used,    100.0 buff/cache\nMiB Swap: 0.0 total, 0.0 free, 0.0 used.    400.0 avail Mem\n\n"
        + _TASKS + "     60 root      20   0       0      0      0 R  98.0   0.0  10:42.59 [kswapd0]\n",
        "memory-pressure",
        ("90 %", "400 MiB", "62.5 GiB"),
    ),
    "a load average that no CPU has": (
        _TOP.format("8,05, 7,56, 6,85") + _STATES.format("0,7", "0,3", "99,0", "0,0", "0,0"),
        None,
        ("6.8", "99 %"),
    ),
    "CPUs in interrupts: no program computes": (
        "10:00:01 CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
        "10:00:02 all 13.00 0.00 23.00 0.00 0.00 48.00 0.00 0.00 0.00 16.00\n10:00:02 0 13.00 0.00 23.00 0.00 0.00 48.00 0.00 0.00 0.00 16.00\n",
        None,
        ("48 %",),
    ),
    "a busy disk is named before the CPUs' waiting for it": (
        _CPU + " 5.00 0.00 6.00 17.00 0.00 72.00\n\n" + _DISK + "sda 312.00 0.00 40064.00 0.00 9.34 0.00 2.91 100.00\n",
        "device-saturated",
        ("100 %", "9.34 ms", "17 %"),
    ),
    "biosnoop: what a request took": (
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n"
        + "".join(f"6.98{at} fio 1029{at} nvme2n1 W 35317{at} 4096 5.00\n" for at in range(8)),
        None,
        ("8", "5 ms"),
    ),
    "lines that grep took out of a log of strace": (
        "".join(f"27270 02:4{at}:11.418229 fdatasync(84)     = 0 <0.0132{at}>\n" for at in range(4)),
        None,
        ("4", "13.2 ms"),
    ),
    "zpool iostat: what its second report has": (
        "              capacity     operations     bandwidth\npool        alloc   free   read  write   read  write\n"
        "----------  -----  -----  -----  -----  -----  -----\ntank         242G   670G      4      7   179K  77.3K\n"
        "tank         242G   670G      0     12      0  1.5M\n",
        None,
        ("12", "1.57 MB/s"),
    ),
    "checkpoints: how far apart, the least": (
        "LOG:  checkpoints are occurring too frequently (3 seconds apart)\nLOG:  checkpoints are occurring too frequently (5 seconds apart)\n",
        None,
        ("3 s", "2"),
    ),
    "requests of etcd that were not only reads": (
        '2020-10-20 12:15:22.088482 W | etcdserver: request "header:<ID:1 >" with result "size:18" took too long (900.133988ms) to execute\n',
        None,
        ("900 ms",),
    ),
    "Ceph of old": (
        "HEALTH_WARN 150 requests are blocked > 32 sec; 11 osds have slow requests\n24 ops are blocked > 32.768 sec on osd.15\n1 ops are blocked > 262.144 sec on osd.23\n",
        None,
        ("4 min 22 s",),
    ),
    "NVMe over a network": (
        "[Wed Jun 28 13:19:08 2023] nvme nvme4: queue 0: timeout request 0x0 type 4\n[Wed Jun 28 13:19:08 2023] nvme nvme4: failed nvme_keep_alive_end_io error=10\n"
        "[Wed Jun 28 13:19:11 2023] block nvme2n2: no usable path - requeuing I/O\n",
        None,
        ("nvme4", "2"),
    ),
    "a machine that ran out of memory": (
        f"{_KERNEL}16 pages in swap cache\n{_KERNEL}mysqld invoked oom-killer: gfp_mask=0x201da, order=0\n",
        None,
        ("mysqld",),
    ),
    "a container at its limit in one of several screens": (
        "\n".join(
            "NAME   CPU %     MEM USAGE / LIMIT     MEM %     BLOCK I/O         PIDS \n"
            f"web    0.03%     {used}MiB / 10MiB       64.10%    {read}MB / 0B       8 \n"
            for used, read in ((6.4, 15.7), (9.7, 1090), (6.2, 1090))
        ),
        None,
        ("97 %", "1.02 GiB"),
    ),
    "containers far from their limits": (
        "CONTAINER  CPU %  MEM USAGE/LIMIT     MEM %   NET I/O\nweb        0.59%  200 MiB/1000 MiB   20.00%  25.82 KiB/6.33 KiB\n",
        None,
        ("20 %",),
    ),
    "dd below its command line, without a prompt": (
        "dd if=/dev/zero of=here bs=1M count=10 oflag=direct\n`10485760 bytes (10 MB, 10 MiB) copied, 4.0 s, 2.6 MB/s`\n",
        None,
        ("2.62 MB/s",),
    ),
    "busybox' dd has its seconds from time": (
        "$ time dd if=/dev/zero of=test.dat bs=1024 count=100000\n100000+0 records in\n100000+0 records out\nreal\t1m 4.00s\nuser\t0m 0.70s\nsys\t0m 9.50s\n",
        None,
        ("1 KiB", "1.6 MB/s"),
    ),
    "the slow one of several disks": (
        "/dev/sda:\n Timing O_DIRECT disk reads: 318 MB in 3.01 seconds = 105.60 MB/sec\n/dev/sdc:\n Timing O_DIRECT disk reads: 146 MB in 3.12 seconds = 46.76 MB/sec\n",
        None,
        ("sdc", "49 MB/s", "111 MB/s"),
    ),
    "a plan that reads page by page": (
        " Append  (cost=0.56..9905.47 rows=8801 width=112) (actual time=14.693..80000.000 rows=23926 loops=1)\n   Buffers: shared hit=13 read=16384\n",
        None,
        ("128 MiB", "80 s", "4.88 ms"),
    ),
    "InnoDB's rates": (
        "Pending normal aio reads: 0 [0, 0, 0, 0] , aio writes: 0 [0, 0, 0, 0] ,\nPending flushes (fsync) log: 0; buffer pool: 0\n"
        "936.29 reads/s, 16384 avg bytes/read, 5.84 writes/s, 3.57 fsyncs/s\n",
        None,
        ("936", "16 KiB", "5.84", "3.57"),
    ),
    "gstat-rs names whose rate it is behind it": (
        "L(q)  ops/s    r/s kB/r kB/s r   ms/r    w/s kB/w kB/s w   ms/w   %busy Name\n   7    119      0    0     0    0.0    118  727  85699   30.4    96.1 ada0\n",
        None,
        ("30.4 ms", "96 %"),
    ),
    "collectl's single CPUs with times": (
        "# SINGLE CPU[HYPER] STATISTICS\n#Time        Cpu  User Nice  Sys Wait IRQ  Soft Steal Guest NiceG Idle\n"
        + "".join(f"00:46:{s}0       {cpu}     7    0    2   30    0    0     0     0     0   61\n" for s in "012" for cpu in "01"),
        None,
        ("30 %",),
    ),
    "what dstat's disks wait": (
        "--dsk/sda-- ---sda---\n read  writ|rawa wawa\n  38k 3442k|0.54 4.64\n   0  5744k|   0 3.00\n   0  3076k|   0 1.00\n",
        None,
        ("2 ms",),
    ),
    "bytes since iotop began": (
        "Total DISK READ :       0.00 B/s | Total DISK WRITE :     477.17 K/s\n  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND\n"
        "  284 be/3 root          0.00 B     64.00 K  ?unavailable?  [jbd2/nvme0n1p4-8]\n",
        None,
        ("284", "64 KiB"),
    ),
    "iotop without delays": (
        "Total DISK READ:         0.00 B/s | Total DISK WRITE:        48.21 M/s\n    TID  PRIO  USER     DISK READ DISK WRITE>    COMMAND\n"
        "    512  be/4  root        0.00 B/s   46.10 M/s [jbd2/sda2-8]\n   1822  be/4  mysql       0.00 B/s    1.90 M/s mysqld\n",
        None,
        ("512", "48.3 MB/s"),
    ),
    "a disk that ZFS has taken out": (
        "  pool: tank\n state: DEGRADED\nconfig:\n\n\tNAME        STATE     READ WRITE CKSUM\n\ttank        DEGRADED     0     0     0\n"
        "\t  mirror-0  DEGRADED     0     0     0\n\t    sdb     FAULTED     11   203     0  too many errors\n",
        "device-failing",
        ("tank",),
    ),
    "a command that was timed": (
        "$ time cp -r node_modules /mnt/nfs/\n\nreal\t6m12.114s\nuser\t0m1.220s\nsys\t0m21.480s\n",
        None,
        ("6 min 12 s", "94 %"),
    ),
    "sessions that commit": (
        " pid  |   state   | wait_event_type |  wait_event  | query\n------+-----------+-----------------+--------------+------\n"
        " 1211 | active    | IO              | DataFileRead | SELECT 1\n 1212 | active    | LWLock          | WALWrite     | COMMIT\n"
        " 1213 | active    | IO              | WALSync      | COMMIT\n",
        None,
        ("2", "3"),
    ),
    "a filesystem without room": (
        "Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme0n1p2  234G  222G  132M 100% /\n/dev/sda1       3.6T  3.1T  372G  90% /data\n",
        None,
        ("100 %", "132 MiB"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAYS)
def test_what_it_says(tmp_path: Path, kind: str) -> None:
    text, cause, numbers = SAYS[kind]
    found = verdict(tmp_path, text)
    assert tells(found.headline, *numbers), found.headline
    assert next((one.cause for one in found.findings), None) == cause
    assert "not be read" not in found.headline


def test_a_busy_disk_speaks_for_a_program_that_waits(tmp_path: Path) -> None:
    text = _CPU + " 5 0 6 17 0 72\n\n" + _DISK + "sda 312 0 40064 0 9.34 0 2.91 100\n"
    doubt = verdict(tmp_path, text).doubt
    assert doubt is not None and "100 %" in doubt.suspects[0].speaks_for
    assert not any("100 %" in one.against for one in doubt.suspects)


def test_where_rows_are_missing_nothing_is_suspected(tmp_path: Path) -> None:
    """The disk that was cut off may be what is waited for."""
    text = (
        _CPU + " 5 0 2 61 0 32\n\n" + _DISK + "nvme0n1 79 1 1526 31 0.12 0.1 0.01 17\n" + "sda 38\n"
    )
    found = verdict(tmp_path, text)
    assert found.doubt is None and tells(found.headline, "61 %", "1", "3")


def test_one_report_shows_no_rate_that_stands_still(tmp_path: Path) -> None:
    found = verdict(tmp_path, _DISK + "sda 2151 0 1100000 0 61.5 0 132 100\n")
    assert not any("stands still" in str(link.statement) for link in found.findings[0].chain)


def test_a_fence_is_no_part_of_a_row() -> None:
    """A last row without its name: it is not read, and no disk is called ```."""
    title = " L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name\n"
    text = f"```\n{title}   10    316    316  36079   18.6      0      0    0.0  99.8| ada0\n    3    614    614  73772   13.7      0      0    0.0  112.5|\n```\n"
    parsed = taken_apart(text).parts[0].parsed
    assert parsed.skipped == 1 and parsed.figures == 1


def test_lines_of_the_kernel_are_no_rows() -> None:
    text = (
        "".join(
            f"Nov 21 07:11:08 x1 kernel: [252847.02583{at}]  [<ffffffff8168c0e9>] f{at}+0x16/0x1b\n"
            for at in range(3)
        )
        + "Nov 21 07:11:08 x1 kernel: [252847.025834] INFO: task kvm:13570 blocked for more than 120 seconds.\n"
    )
    assert taken_apart(text).parts[-1].parsed.skipped == 0


def test_tasks_that_hang_are_one_fact(tmp_path: Path) -> None:
    text = "".join(
        f"{_KERNEL}INFO: task t{at}:{at} blocked for more than 120 seconds.\n" for at in (7, 8)
    )
    assert tells(verdict(tmp_path, text).headline, "2", "7", "8")


def test_the_scheduler_is_not_what_is_waited_for() -> None:
    text = (
        f"{_KERNEL}INFO: task dd:7 blocked for more than 120 seconds.\n{_KERNEL}dd              D    0  7   3350 0x00000000\n"
        + "".join(
            f"{_KERNEL}[<ffff0000080861cc>] {name}+0x94/0xa8\n"
            for name in ("__switch_to", "schedule", "bit_wait_io")
        )
    )
    parsed = read("dmesg", text)
    assert any("bit_wait_io" in note for note in parsed.notes)
    assert not any("__switch_to" in note for note in parsed.notes)


def test_threads_in_d_that_grep_took_out() -> None:
    text = "  12405 D /opt/bin/auoms\n 105408 D [jbd2/dm-8-8]\n"
    parsed = read("ps", text)
    assert not parsed.rejects and any("12405" in note and "105408" in note for note in parsed.notes)


@quick
@given(
    st.lists(st.sampled_from(["read", "write"]), min_size=1, max_size=2, unique=True),
    st.integers(1, 5000),
    st.integers(1, 900),
)
def test_any_job_of_fio_says_what_an_operation_takes(tmp_path_factory: pytest.TempPathFactory, sides: list[str], iops: int, ms: int) -> None:  # fmt: skip
    text = "job: (groupid=0, jobs=1): err= 0: pid=9: Fri Nov 11 10:49:38 2022\n" + "".join(
        f"  {side}: IOPS={iops}, BW={4 * iops}KiB/s (1kB/s)(94MiB/60017msec)\n     lat (msec): min=0, max=999, avg={ms}.00, stdev=16.00\n"
        for side in sides
    )
    folder = tmp_path_factory.mktemp("fio")
    (folder / "text").write_text(text)
    found = diagnose([str(folder / "text")], folder / "x.iowhy")
    with facts_of(found.recording) as facts:
        said = [str(one.link.statement) for one in benchmarks.state(facts)]
    assert len(said) == 1 and all(f"a {side} of 4 KiB takes" in said[0] for side in sides)
