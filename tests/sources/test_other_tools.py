"""Small outputs of tools that people post, and lines of logs: format, subject, metric and value of each."""

from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.sources.formats import app_log
from iowhy.whys.program import programs
from tests.problems import wrong

from .reading import taken_apart, values, verdict

PASTES = Path(__file__).parent / "pastes"
#: File → format, what is measured of which subject, and what the first sentence has.
POSTED: dict[str, tuple[str, dict[tuple[str, str], float], tuple[str, ...]]] = {
    "sysrqw": ("dmesg", {("log_force", "uninterruptible_threads"): 1}, ("java (9265)", "xlog_cil_force_lsn")),
    "nvmedown": ("dmesg", {("nvme0", "gone"): 3}, ("nvme0", "hardware")),
    "mmc": ("dmesg", {("mmc0", "command_timeouts"): 1, ("mmcblk0", "command_timeouts"): 1}, ("mmc", "hardware")),
    "cleandmesg": ("dmesg", {("kernel log", "without_errors_ns"): 12e9}, ("12 s",)),
    "arm": ("dmesg", {("jbd2/sda1-8 (358) in jbd2_journal_commit_transaction (journal_commit)", "blocked_ns"): 122e9}, ("2 min 2 s", "jbd2_journal_commit_transaction")),
    "pg-test-fsync": ("pg-test-fsync", {("fdatasync", "sync_mean_ns"): 16_711_000, ("fsync", "syncs_per_s"): 23.415}, ("16.7 ms",)),
    "redis-log": ("app-log", {("Redis", "a_sync_of_the_append_only_file_least_ns"): 2e9, ("Redis", "a_sync_of_the_append_only_file_count"): 2,
                              ("Redis", "a_sync_of_the_append_only_file_span_s"): 39.757}, ("over 2 s", "2 times", "39.8 s")),
}  # fmt: skip

TEXTS: dict[str, tuple[str, str, dict[tuple[str, str], float]]] = {
    "ioping": ("ioping", """4 KiB <<< /var (ext4 /dev/sda1 49.2 GiB): request=1 time=12.3 ms (warmup)
4 KiB <<< /var (ext4 /dev/sda1 49.2 GiB): request=2 time=845.1 us

--- /var (ext4 /dev/sda1 49.2 GiB) ioping statistics ---
9 requests completed in 85.2 ms, 36 KiB read, 105 iops, 422.5 KiB/s
generated 10 requests in 9.01 s, 40 KiB, 1 iops, 4.44 KiB/s
min/avg/max/mdev = 4.65 ms / 9.47 ms / 13.8 ms / 2.91 ms
""", {("/var", "request_mean_ns"): 9.47e6, ("/var", "request_max_ns"): 13.8e6, ("/var", "requests_per_s"): 105}),
    "hdparm": ("hdparm", """/dev/sda:
 Timing cached reads:   12346 MB in  2.00 seconds = 6177.02 MB/sec
 Timing buffered disk reads: 300 MB in  3.01 seconds =  99.50 MB/sec
""", {("/dev/sda", "read_in_order_bytes_per_s"): 99.5 * 2**20}),
    "explain": ("explain", """ Sort  (cost=1.0..2.0 rows=1 width=8) (actual time=812.101..812.150 rows=100 loops=1)
   Buffers: shared hit=1200 read=45000, temp read=1000 written=1002
   I/O Timings: shared read=702.500
   ->  Seq Scan on t  (cost=0..1 rows=1 width=8) (actual time=0.031..300.2 rows=10 loops=1)
         Buffers: shared hit=1200 read=45000
 Planning Time: 0.1 ms
 Execution Time: 815.000 ms
""", {("plan", "read_bytes"): 45000 * 8192, ("plan", "temporary_written_bytes"): 1002 * 8192, ("plan", "reading_ns"): 702.5e6}),
    "ceph health": ("ceph", """  cluster:
    id:     9d0b4f9e
    health: HEALTH_WARN
            3 slow ops, oldest one blocked for 65 sec, daemons [osd.12,osd.22] have slow ops.
  services:
    osd: 12 osds: 11 up (since 3h), 12 in (since 5w)
  io:
    client:   1.5 MiB/s rd, 3.0 MiB/s wr, 56 op/s rd, 78 op/s wr
    recovery: 120 MiB/s, 30 objects/s
""", {("ceph -s", "slow_operations"): 3, ("ceph -s", "oldest_blocked_ns"): 65e9, ("ceph -s", "osds_up"): 11,
      ("ceph -s", "client_write"): 3 * 2**20, ("ceph -s", "recovery"): 120 * 2**20}),
    "osd perf": ("ceph", "osd  commit_latency(ms)  apply_latency(ms)\n  2                 154                154\n",
                 {("osd.2", "commit_ns"): 154e6}),
    "zpool status": ("zpool-status", """  pool: tank
 state: DEGRADED
  scan: resilver in progress since Sun Mar  2 01:00:00 2025
\t1.20T scanned at 500M/s, 600G issued at 250M/s, 2.00T total
\t200G resilvered, 29.30% done, 01:35:00 to go
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        DEGRADED     0     0     0
\t  sda       ONLINE       0     0     7

errors: No known data errors
""", {("tank", "degraded"): 1, ("tank", "resilver_under_way"): 1, ("sda", "checksum_errors"): 7}),
    "zpool status, a disk out": ("zpool-status", """  pool: tank
 state: DEGRADED
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        DEGRADED     0     0     0
\t  raidz2-0  DEGRADED     0     0     0
\t    sdb     FAULTED     11   203     0  too many errors
\t    sdc     ONLINE       0     0     0
""", {("sdb", "faulted_in_pool"): 1, ("sdb", "write_errors"): 203}),
    "df": ("df", """Filesystem     Type  1K-blocks      Used Available Use% Mounted on
udev           devtmpfs    8123        0      8123   0% /dev
/dev/sda1      ext4  479151816 402011820  52730844  89% /
/dev/mapper/vg xfs   104806400 104006400    800000 100% /var/my data
""", {("/", "used_share"): 0.89, ("/", "free_bytes"): 52730844 * 1024, ("/var/my data", "used_share"): 1.0}),
    "df -h": ("df", """Filesystem      Size  Used Avail Use% Mounted on
tmpfs           1.6G  1.9M  1.6G   1% /run
/dev/nvme0n1p2  234G  222G  132M 100% /
""", {("/", "used_share"): 1.0, ("/", "free_bytes"): 132 * 2**20, ("/", "size_bytes"): 234 * 2**30}),
    "df -i": ("df", """Filesystem        Inodes   IUsed  IFree IUse% Mounted on
/dev/sda1      244195328 244195318     10  100% /data
""", {("/data", "inodes_used_share"): 1.0, ("/data", "inodes_free"): 10}),
    "smartctl -l error": ("smartctl", """SMART Error Log Version: 1
ATA Error Count: 142 (device log contains only the most recent five errors)
\tCR = Command Register [HEX]

Error 142 occurred at disk power-on lifetime: 31881 hours (1328 days + 9 hours)
  When the command that caused the error occurred, the device was active or idle.

  After command completion occurred, registers were:
  ER ST SC SN CL CH DH
  -- -- -- -- -- -- --
  40 53 00 78 42 1a 0b  Error: UNC at LBA = 0x0b1a4278 = 186270328
""", {("disk", "logged_errors"): 142, ("disk", "reported_uncorrectable"): 1}),
    "perf top": ("perf-report", """Samples: 48K of event 'cycles', 4000 Hz, Event count (approx.): 9184519231 lost: 0/0 drop: 0/0
Overhead  Shared Object        Symbol
  31.22%  [kernel]             [k] native_queued_spin_lock_slowpath
   3.90%  postgres             [.] hash_search_with_hash_value
""", {("native_queued_spin_lock_slowpath ([kernel])", "sample_share"): 0.3122,
      ("hash_search_with_hash_value (postgres)", "sample_share"): 0.039}),
    "pg_stat_activity": ("sessions", """ pid  |   state   | wait_event_type |  wait_event  |                query
------+-----------+-----------------+--------------+--------------------------------------
 1211 | active    | IO              | DataFileRead | SELECT 1 | 2
 1212 | active    | LWLock          | WALWrite     | COMMIT
 1213 | active    | IO              | WALSync      | COMMIT
 1214 | active    |                 |              | SELECT 2
 1215 | idle      | Client          | ClientRead   | COMMIT
(5 rows)
""", {("PostgreSQL", "at_work_sessions"): 4, ("PostgreSQL", "commit_sessions"): 2, ("PostgreSQL", "reading_sessions"): 1}),
    "SHOW PROCESSLIST": ("sessions", """+------+------+-----------+------+---------+------+----------------------------+--------+
| Id   | User | Host      | db   | Command | Time | State                      | Info   |
+------+------+-----------+------+---------+------+----------------------------+--------+
| 1021 | app  | 10.0.0.3  | shop | Query   |   41 | waiting for handler commit | COMMIT |
| 1022 | app  | 10.0.0.3  | shop | Query   |   39 | Waiting for table metadata lock | ALTER TABLE t |
| 1023 | app  | 10.0.0.3  | shop | Sleep   |   12 |                            | NULL   |
+------+------+-----------+------+---------+------+----------------------------+--------+
""", {("MySQL", "at_work_sessions"): 2, ("MySQL", "commit_sessions"): 1, ("MySQL", "lock_sessions"): 1}),
    "time of bash": ("time", "\nreal\t6m12.114s\nuser\t0m1.220s\nsys\t0m21.480s\n",
                     {("the command", "elapsed_ns"): 372.114e9, ("the command", "kernel_ns"): 21.48e9}),
    "time of zsh": ("time", "git status  0.31s user 1.92s system 8% cpu 1:27.412 total\n",
                    {("git status", "elapsed_ns"): 87.412e9, ("git status", "user_ns"): 0.31e9}),
    "time of GNU": ("time", "0.31user 1.92system 1:00:27elapsed 8%CPU (0avgtext+0avgdata 25000maxresident)k\n"
                    "812344inputs+0outputs (12major+3004minor)pagefaults 0swaps\n",
                    {("the command", "elapsed_ns"): 3627e9, ("the command", "read_bytes"): 812344 * 512, ("the command", "major_faults"): 12}),
    "time -v": ("time", """\tCommand being timed: "sort -o big.sorted big.txt"
\tUser time (seconds): 41.20
\tSystem time (seconds): 10.11
\tPercent of CPU this job got: 37%
\tElapsed (wall clock) time (h:mm:ss or m:ss): 2:18.66
\tMajor (requiring I/O) page faults: 12
\tFile system outputs: 32000000
\tExit status: 0
""", {("sort -o big.sorted big.txt", "elapsed_ns"): 138.66e9, ("sort -o big.sorted big.txt", "written_bytes"): 16_384_000_000}),
    "mongostat": ("mongostat", """insert query update delete getmore command dirty  used flushes vsize   res qrw arw net_in net_out conn                time
    *0    *0     *0     *0       0     2|0 25.0% 80.0%       1 1.50G 900M 12|40 1|2   158b   45.9k    3 Mar  3 08:11:02.114
""", {("MongoDB", "cache_dirty_share"): 0.25, ("MongoDB", "waiting_writes"): 40}),
    "hot threads": ("hot-threads", """::: {node-1}{abc}
   Hot threads at 2024-01-01T00:00:00Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

   98.7% (493.5ms out of 500ms) cpu usage by thread 'elasticsearch[node-1][write][T#1]'
     10/10 snapshots sharing following 9 elements
       java.base@17/sun.nio.ch.FileDispatcherImpl.force0(Native Method)
""", {("elasticsearch[node-1][write][T#1]", "syncs_files"): 0.987}),
    "esxtop": ("esxtop", "DEVICE PATH DQLEN ACTV QUED CMDS/s READS/s WRITES/s DAVG/cmd KAVG/cmd GAVG/cmd QAVG/cmd\nnaa.600 - 64 32 5 900.1 0.5 899.6 45.20 12.50 57.70 12.40\n",
               {("naa.600", "device_mean_ns"): 45.2e6, ("naa.600", "hypervisor_mean_ns"): 12.5e6, ("naa.600", "queued"): 5}),
    "busybox top": ("busybox-top", """Mem: 500000K used, 12000K free, 100K shrd, 2000K buff, 90000K cached
CPU:   5% usr  10% sys   0% nic   5% idle  80% io   0% irq   0% sirq
Load average: 3.01 2.50 1.00 2/80 1234
  PID  PPID USER     STAT   VSZ %VSZ %CPU COMMAND
  912     1 root     D     2400   1%   9% dd if=/dev/zero of=/mnt/x
""", {("dd (912)", "machine_cpu_share"): 0.09, ("unknown", "uninterruptible_threads"): 1}),
    "node_exporter": ("node-exporter", """# TYPE node_disk_reads_completed_total counter
node_boot_time_seconds 1000
node_time_seconds 2000
node_disk_reads_completed_total{device="sda"} 100
node_disk_read_time_seconds_total{device="sda"} 2.5
node_disk_io_time_seconds_total{device="sda"} 400
node_pressure_io_waiting_seconds_total 300
""", {("sda", "since_boot_read_mean_ns"): 25e6, ("sda", "since_boot_busy_share"): 0.4, ("io", "since_boot_some_stalled_share"): 0.3}),
}  # fmt: skip

#: A line of a server's log → whose, what is measured, and how much.
LINES: dict[str, tuple[str, str, float]] = {
    "2024-01-02 03:04:05,678 [myid:1] - WARN [SyncThread:1:FileTxnLog@378] - fsync-ing the write ahead log in SyncThread:1 took 2345ms which will adversely effect operation latency.":
        ("ZooKeeper", "a_sync_of_the_transaction_log_ns", 2345e6),
    '{"level":"warn","ts":"2024-01-02T03:04:05.678Z","caller":"wal/wal.go:805","msg":"slow fdatasync","took":"1.25s","expected-duration":"1s"}':
        ("etcd", "a_sync_of_the_WAL_ns", 1.25e9),
    "2021-01-02 03:04:05.678 W | wal: sync duration of 2.5s, expected less than 1s": ("etcd", "a_sync_of_the_WAL_ns", 2.5e9),
    "2024-01-02 03:04:05.678 UTC [99] LOG:  checkpoint complete: wrote 900 buffers (5.5%); 0 WAL file(s) added; write=26.9 s, sync=1.2 s, total=28.3 s; sync files=9, longest=0.8 s, average=0.2 s":
        ("PostgreSQL", "a_sync_of_one_file_at_a_checkpoint_ns", 0.8e9),
    '2024-01-02 03:04:05 UTC LOG:  temporary file: path "base/pgsql_tmp/pgsql_tmp1.0", size 104857600':
        ("PostgreSQL", "a_temporary_file_bytes", 104857600),
    "2024-01-02T03:04:05.678Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 14321ms. The settings might not be optimal.":
        ("InnoDB", "a_pass_of_the_page_cleaner_ns", 14321e6),
    "[2024-01-02 03:04:05,678] INFO [LocalLog partition=t-0, dir=/d] Rolled new log segment at offset 77 in 3120 ms. (kafka.log.LocalLog)":
        ("Kafka", "a_new_segment_of_the_log_ns", 3120e6),
    "[2024-01-02T03:04:05,678][WARN ][o.e.m.f.FsHealthService] [n1] health check of [/data] took [11405ms] which is above the warn threshold of [5s]":
        ("Elasticsearch", "a_health_check_of_the_disk_ns", 11405e6),
    'I0102 03:04:05.678901 1 kubelet.go:2419] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m5.5s ago; threshold is 3m0s"':
        ("kubelet", "looking_at_containers_PLEG__ns", 185.5e9),
    "W0309 04:36:37.167191 24926 log.cc:679] Time spent Fsync log took a long time: real 0.115s user 0.000s sys 0.000s":
        ("YugabyteDB", "a_sync_of_the_WAL_ns", 0.115e9),
    "Jan 02 03:04:05 n1 systemd-oomd[700]: Memory pressure for /a.slice is 65.12% > 50.00% for > 20s with reclaim activity":
        ("systemd-oomd", "memory_pressure_above_its_limit_share", 0.6512),
}  # fmt: skip


@pytest.mark.parametrize("name", POSTED)
def test_a_paste(tmp_path: Path, name: str) -> None:
    form, expected, said = POSTED[name]
    text = (PASTES / f"{name}.txt").read_text()
    holds(form, text, expected)
    found = verdict(tmp_path, text)
    assert {one.cause for one in found.findings} <= {"device-failing"}
    assert all(one in found.headline for one in said), found.headline


@pytest.mark.parametrize("name", TEXTS)
def test_an_output(name: str) -> None:
    form, text, expected = TEXTS[name]
    holds(form, text, expected)


@pytest.mark.parametrize("line", LINES, ids=[server for server, _, _ in LINES.values()])
def test_a_line_of_a_log(line: str) -> None:
    server, metric, value = LINES[line]
    holds("app-log", line + "\n", {(server, metric): value})


def holds(form: str, text: str, expected: dict[tuple[str, str], float]) -> None:
    """All of the text is that format's and understood, and has these values."""
    found = taken_apart(text)
    assert [part.format for part in found.parts] == [form] and not found.unread
    parsed = found.parts[0].parsed
    assert not parsed.rejects
    for (subject, metric), value in expected.items():
        assert values(parsed, subject).get(metric) == pytest.approx(value), (subject, metric)


BINARY = {
    b"PERFILE2": "perf script -i",
    b"\x96\xd5\x75\x21": "sadf -j",
    b"\xd4\xc3\xb2\xa1": "nfsiostat",
    b"\x7fELF\x02": "iowhy run --",
    b'{ "traceEvents": [': "iowhy run -a",
    b'{"resourceLogs": [': "jq -r",
}


@pytest.mark.parametrize("head", BINARY)
def test_what_is_no_text_gets_an_order(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "file.data").write_bytes(head + b"\n" * 8)
    with wrong("not-a-log", path=tmp_path / "file.data") as found:
        diagnose([str(tmp_path / "file.data")], tmp_path / "out.iowhy")
    assert BINARY[head] in str(found.value.sentence.values["order"])


def test_what_is_binary_and_of_no_known_kind(tmp_path: Path) -> None:
    (tmp_path / "file.data").write_bytes(bytes(range(64)) * 8 + bytes(64))
    with wrong("log-binary", path=tmp_path / "file.data"):
        diagnose([str(tmp_path / "file.data")], tmp_path / "out.iowhy")


@pytest.mark.parametrize(
    ("line", "setting"),
    [
        (
            "2024-01-02 03:04:05 UTC [9] LOG:  checkpoints are occurring too frequently (9 seconds apart)",
            "max_wal_size",
        ),
        (
            '2024-01-02 03:04:05 UTC LOG:  temporary file: path "base/pgsql_tmp/pgsql_tmp1.0", size 104857600',
            "work_mem",
        ),
    ],
)
def test_what_a_log_says_is_answered_with_the_setting(
    tmp_path: Path, line: str, setting: str
) -> None:
    """Also next to a sync that took longer than it should."""
    slow = "2024-01-02 03:04:06 UTC [9] LOG:  checkpoint complete: wrote 900 buffers (5.5%); longest=0.8 s, average=0.2 s"
    assert setting in verdict(tmp_path, f"{line}\n{slow}\n").headline


def test_what_settings_say_of_logs_is_what_logs_are_read_for() -> None:
    read = {(one.server, one.what) for one in app_log.KINDS}
    named = {
        (known.name, what)
        for known in programs()
        for one in known.remedies.values()
        for what in one.logged
    }
    assert named and named <= read
