"""For the remaining formats: a text is written from generated numbers and read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.names import dev_number

from .reading import intervals, quick, read, values

COUNTS = st.integers(0, 10**7)
BANNER = "Linux 6.1.0 (host) \t2024-03-04 \t_x86_64_\t(2 CPU)\n\n"


def shares(parts: int) -> st.SearchStrategy[list[int]]:
    """Percentages (whole ones) that sum to 100."""
    return st.lists(st.integers(0, 100), min_size=parts - 1, max_size=parts - 1).map(
        lambda cuts: [
            high - low for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), 100], strict=True)
        ]
    )


@quick
@given(rows=st.dictionaries(st.integers(1, 99999), st.tuples(*[st.integers(0, 10**6)] * 3),
                            min_size=1, max_size=5))  # fmt: skip
def test_pidstat(rows: dict[int, tuple[int, ...]]) -> None:
    text = BANNER + "10:00:00      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    for pid, (read_, written, delay) in rows.items():
        text += f"10:00:02  0  {pid}  {read_}.50  {written}.00  0.00  {delay}  a prog {pid}\n"
    parsed = read("pidstat", text)
    for pid, (read_, written, delay) in rows.items():
        (one,) = intervals(parsed, "process_io", tgid=pid)
        assert one.counters["read_bytes"] == (read_ + 0.5) * 1024 * 2
        assert one.counters["written_bytes"] == written * 1024 * 2
        found = values(parsed, f"a prog {pid} ({pid})")
        assert found["io_delay_share"] == pytest.approx(delay * 0.01 / 2)


@quick
@given(cpu=shares(8), memory=st.tuples(*[st.integers(0, 10**6)] * 4), comma=st.booleans(),
       processes=st.dictionaries(st.integers(1, 99999), st.integers(0, 999), max_size=5))  # fmt: skip
def test_top(
    cpu: list[int], memory: tuple[int, ...], comma: bool, processes: dict[int, int]
) -> None:
    dot = "," if comma else "."
    names = ("us", "sy", "ni", "id", "wa", "hi", "si", "st")
    text = ""
    for second in (10, 13):
        text += f"top - 14:02:{second} up 1 day,  2 users,  load average: 4.10, 2.22, 1.03\n"
        text += "%Cpu(s): " + ", ".join(
            f"{share:>3}{dot}0 {name}" for share, name in zip(cpu, names, strict=True)
        )
        total, free, used, cached = memory
        text += f"\nMiB Mem : {total}{dot}5 total, {free}{dot}0 free, {used}{dot}0 used, "
        text += f"{cached}{dot}0 buff/cache\n\n"
        text += "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
        for pid, share in processes.items():
            text += f"{pid} db 20 0 1201m 802m 12m D {share}{dot}5 10{dot}1 3:12.04 prog\n"
        text += "\n"
    parsed = read("top", text)
    (one,) = parsed.intervals
    assert one.counters["idle_ns"] == pytest.approx(cpu[3] / 100 * 3e9)
    assert one.counters["irq_ns"] == pytest.approx((cpu[5] + cpu[6]) / 100 * 3e9)
    row = parsed.tables["memory_samples"][0]
    assert row["total_bytes"] == round((memory[0] + 0.5) * 2**20)
    assert row["cached_bytes"] == memory[3] * 2**20
    for pid, share in processes.items():
        assert values(parsed, f"prog ({pid})")["cpu_share"] == pytest.approx((share + 0.5) / 100)
    assert parsed.rejects == []


@quick
@given(reports=st.lists(st.tuples(shares(5), *[st.integers(0, 10**5)] * 4), max_size=4))
def test_iostat_json(reports: list[tuple[list[int], int, int, int, int]]) -> None:
    statistics = []
    for cpu, reads, writes, read_, written in [([100, 0, 0, 0, 0], 1, 1, 1, 1), *reports]:
        names = ("idle", "user", "system", "iowait", "steal")
        statistics.append(
            {
                "avg-cpu": dict(zip(names, cpu, strict=True)),
                "disk": [{"disk_device": "sda", "r/s": reads, "w/s": writes, "rkB/s": read_,
                          "wkB/s": written, "r_await": 2, "w_await": 4, "util": 100.4}],
            }
        )  # fmt: skip
    host = {"nodename": "h", "number-of-cpus": 2, "date": "11/21/26", "statistics": statistics}
    parsed = read("iostat-json", json.dumps({"sysstat": {"hosts": [host]}}, indent=1))
    disks = intervals(parsed, "disk_samples", dev=dev_number(8, 0))
    assert len(disks) == len(reports)
    for one, (_, reads, writes, read_, written) in zip(disks, reports, strict=True):
        assert one.counters["reads"] == reads
        assert one.counters["write_ns"] == writes * 4e6
        assert one.counters["read_bytes"] == read_ * 1024
        assert one.counters["written_bytes"] == written * 1024
        assert one.counters["busy_ns"] == 1e9
    for one, (cpu, *_) in zip(intervals(parsed, "cpu_samples"), reports, strict=True):
        assert one.counters["iowait_ns"] == pytest.approx(cpu[3] / 100 * 1e9)


@quick
@given(instants=st.lists(st.tuples(shares(6), COUNTS, COUNTS), min_size=1, max_size=4),
       seconds=st.integers(1, 3600))  # fmt: skip
def test_sadf(instants: list[tuple[list[int], int, int]], seconds: int) -> None:
    entries = []
    for at, (cpu, page_in, free) in enumerate(instants):
        when = (at + 1) * seconds
        names = ("user", "nice", "system", "iowait", "steal", "idle")
        entries.append(
            {
                "timestamp": {
                    "date": "2024-03-04",
                    "time": f"{when // 3600:02}:{when // 60 % 60:02}:{when % 60:02}",
                    "interval": seconds,
                },
                "cpu-load": [{"cpu": "all", **dict(zip(names, cpu, strict=True))}],
                "paging": {"pgpgin": page_in},
                "memory": {"memfree": free},
            }
        )
    host = {"nodename": "h", "file-date": "2024-03-04", "statistics": entries}
    parsed = read("sadf", json.dumps({"sysstat": {"hosts": [host]}}, indent=1))
    assert [row["free_bytes"] for row in parsed.tables["memory_samples"]] == [
        free * 1024 for _, _, free in instants
    ]
    for one, (_, page_in, _) in zip(intervals(parsed, "vm_samples"), instants, strict=True):
        assert one.interval_ns == seconds * 10**9
        assert one.counters["page_in_bytes"] == page_in * 1024 * seconds


@quick
@given(
    disks=st.dictionaries(
        st.sampled_from(["sda", "sdb", "nvme0n1", "vda"]),
        st.lists(st.integers(0, 10**12), min_size=17, max_size=17),
        min_size=1,
    ),
    fields=st.sampled_from([11, 15, 17]),
)
def test_proc_diskstats(disks: dict[str, list[int]], fields: int) -> None:
    text = ""
    for at, (name, numbers) in enumerate(disks.items()):
        text += f"{at + 200:>4} {0:>7} {name} " + " ".join(map(str, numbers[:fields])) + "\n"
    parsed = read("proc-diskstats", text * 2)
    assert parsed.rejects == []
    for at, numbers in enumerate(disks.values()):
        found = [r for r in parsed.snapshots if r.key["dev"] == dev_number(at + 200, 0)]
        assert [snapshot.copy for snapshot in found] == [0, 1]
        assert found[0].counters["written_bytes"] == numbers[6] * 512
        assert found[0].counters["busy_ns"] == numbers[9] * 10**6
        assert ("discards" in found[0].counters) == (fields >= 15)
        assert ("flushes" in found[0].counters) == (fields >= 17)
        assert found[0].levels == {"in_flight": numbers[8]}


@quick
@given(ticks=st.lists(st.lists(st.integers(0, 10**9), min_size=10, max_size=10),
                      min_size=1, max_size=4), memory=COUNTS, faults=COUNTS, stall=COUNTS)  # fmt: skip
def test_proc_stat_meminfo_vmstat_and_pressure(
    ticks: list[list[int]], memory: int, faults: int, stall: int
) -> None:
    total = [sum(column) for column in zip(*ticks, strict=True)]
    text = "cpu  " + " ".join(map(str, total)) + "\n"
    text += "".join(f"cpu{at} " + " ".join(map(str, row)) + "\n" for at, row in enumerate(ticks))
    text += f"intr 5 4 3\nctxt {faults}\nbtime 5\nprocesses 7\nprocs_running 2\nprocs_blocked 1\n"
    parsed = read("proc-stat", text)
    assert parsed.host["cpus"] == len(ticks)
    assert parsed.rejects == []
    for at, row in enumerate(ticks):
        one = next(r for r in parsed.snapshots if r.key.get("cpu") == at)
        assert one.counters["user_ns"] == (row[0] + row[1]) * 10**7
        assert one.counters["steal_ns"] == row[7] * 10**7
    (machine,) = [r for r in parsed.snapshots if r.table == "vm_samples"]
    assert machine.counters == {"context_switches": faults, "forks": 7}
    assert machine.levels == {"procs_running": 2, "procs_blocked": 1}
    text = f"MemTotal:       {memory + 1} kB\nDirty:   {memory} kB\nHugePages_Total:       0\n"
    (row_of,) = read("proc-meminfo", text).tables["memory_samples"]
    assert row_of["dirty_bytes"] == memory * 1024
    text = f"nr_free_pages 5\nnr_other 6\npgmajfault {faults}\npgpgin {memory}\n"
    (snapshot,) = read("proc-vmstat", text).snapshots
    assert snapshot.counters == {"major_faults": faults, "page_in_bytes": memory * 1024}
    text = f"full avg10=0.00 avg60=1.00 avg300=2.50 total={stall}\n"
    (snapshot,) = read("proc-pressure", "==> /proc/pressure/memory <==\n" + text).snapshots
    assert snapshot.counters == {"total_ns": stall * 1000}


@quick
@given(rows=st.lists(st.tuples(COUNTS, COUNTS, st.lists(COUNTS, min_size=2, max_size=2), shares(3)),
                     min_size=1, max_size=5), seconds=st.integers(1, 60))  # fmt: skip
def test_freebsd_vmstat(rows: list[tuple[int, int, list[int], list[int]]], seconds: int) -> None:
    text = " procs      memory      page                   disks     faults      cpu\n"
    text += " r b w     avm    fre  flt  re  pi  po  fr  sr ad4 da0   in   sy   cs us sy id\n"
    for running, free, disks, cpu in [rows[0], *rows]:
        text += f" {running} 2 0 1 {free} 1 0 0 0 1 0 {disks[0]} {disks[1]} 3 4 5 "
        text += " ".join(map(str, cpu)) + "\n"
    parsed = read("freebsd-vmstat", text, f"vmstat -w {seconds}")
    for one, (running, *_) in zip(intervals(parsed, "vm_samples"), rows, strict=True):
        assert one.levels == {"procs_running": running, "procs_blocked": 2}
        assert one.interval_ns == seconds * 10**9
    for one, (*_, cpu) in zip(intervals(parsed, "cpu_samples"), rows, strict=True):
        assert one.counters["system_ns"] == pytest.approx(cpu[1] / 100 * one.interval_ns)
    memory = [row["free_bytes"] for row in parsed.tables["memory_samples"]]
    assert memory == [free * 1024 for _, free, _, _ in rows]
    da0 = [r["value"] for r in parsed.tables["measurements"] if r["subject"] == "da0"]
    assert da0 == [disks[1] for _, _, disks, _ in rows]


@quick
@given(rows=st.lists(st.tuples(COUNTS, COUNTS, shares(4)), min_size=1, max_size=5),
       files=st.booleans(), shared=st.booleans())  # fmt: skip
def test_aix_vmstat(rows: list[tuple[int, int, list[int]]], files: bool, shared: bool) -> None:
    text = "System configuration: lcpu=4 mem=8192MB\n\nkthr    memory    page    faults    cpu\n"
    text += " r  b   avm   fre  " + ("fi fo " if files else "re ") + "pi  po  fr   sr  cy  in   sy"
    text += "  cs us sy id wa" + ("  pc  ec" if shared else "") + "\n"
    for blocked, free, cpu in [rows[0], *rows]:
        text += f"1 {blocked} 5 {free} " + ("3 4 " if files else "0 ") + "7 8 0 0 0 1 2 3 "
        text += " ".join(map(str, cpu)) + (" 0.50 12.5" if shared else "") + "\n"
    parsed = read("aix-vmstat", text)
    assert parsed.rejects == []
    assert len(intervals(parsed, "vm_samples")) == len(rows)
    for one, (blocked, _, _) in zip(intervals(parsed, "vm_samples"), rows, strict=True):
        assert one.levels["procs_blocked"] == blocked
        assert one.counters["swap_in_pages"] == 7
        assert one.counters.get("page_in_bytes") == (3 * 4096 if files else None)
    for one, (*_, cpu) in zip(intervals(parsed, "cpu_samples"), rows, strict=True):
        assert one.counters["iowait_ns"] == pytest.approx(cpu[3] / 100 * 1e9)


@quick
@given(reports=st.lists(st.tuples(shares(4), COUNTS, COUNTS, st.integers(0, 100)),
                        min_size=1, max_size=4), seconds=st.integers(1, 30))  # fmt: skip
def test_aix_iostat(reports: list[tuple[list[int], int, int, int]], seconds: int) -> None:
    text = "System configuration: lcpu=4 drives=1 paths=1 vdisks=0\n\n"
    for cpu, read_, written, busy in [reports[0], *reports]:
        text += "tty:      tin         tout    avg-cpu: % user % sys % idle % iowait\n"
        text += "  0.0  20.1  " + "  ".join(f"{share}.0" for share in cpu) + "\n\n"
        text += "Disks:        % tm_act     Kbps      tps    Kb_read   Kb_wrtn\n"
        text += f"hdisk2  {busy}.0  1.0  20.5  {read_}  {written}\n\n"
    parsed = read("aix-iostat", text, f"iostat {seconds}")
    assert parsed.rejects == []
    rows = [r for r in parsed.tables["measurements"] if r["ts_ns"] is not None]
    written_rates = [r["value"] for r in rows if r["metric"] == "written_bytes_per_s"]
    assert written_rates == pytest.approx([w * 1024 / seconds for _, _, w, _ in reports])
    shares_ = [r["value"] for r in rows if r["metric"] == "busy_share"]
    assert shares_ == pytest.approx([busy / 100 for *_, busy in reports])
    for one, (cpu, *_) in zip(intervals(parsed, "cpu_samples"), reports, strict=True):
        assert one.counters["system_ns"] == pytest.approx(cpu[1] / 100 * one.interval_ns)


@quick
@given(rows=st.lists(st.tuples(st.integers(1, 99999),
                               st.from_regex(r"[A-Za-z][\w:/-]{0,8}( [A-Za-z]\w{0,5})?",
                                             fullmatch=True),
                               COUNTS, COUNTS, COUNTS), max_size=6))  # fmt: skip
def test_cachetop(rows: list[tuple[int, str, int, int, int]]) -> None:
    text = "13:01:01 Buffers MB: 76 / Cached MB: 114 / Sort: HITS / Order: descending\n"
    text += "PID      UID      CMD              HITS     MISSES   DIRTIES  READ_HIT%  WRITE_HIT%\n"
    for pid, comm, hits, misses, dirties in rows:
        text += f"{pid:>8} root     {comm:<16} {hits:8} {misses:8} {dirties:8}     50.0%     0.0%\n"
    parsed = read("cachetop", text, "cachetop 2")
    assert parsed.rejects == []
    assert [
        (row["tgid"], row["lookup_pages"], row["demand_miss_pages"], row["dirtied_pages"])
        for row in parsed.tables.get("page_cache", [])
    ] == [(pid, hits + misses, misses, dirties) for pid, _, hits, misses, dirties in rows]
    assert parsed.tables["memory_samples"][0]["cached_bytes"] == 114 * 2**20


@quick
@given(rows=st.dictionaries(st.from_regex(r"[A-Z][a-z]{0,8}( [a-z()]{1,9}){0,4}", fullmatch=True),
                            st.tuples(st.integers(0, 10**5), st.integers(0, 1000)),
                            min_size=1, max_size=6))  # fmt: skip
def test_latencytop(rows: dict[str, tuple[int, int]]) -> None:
    text = "Cause                                                Maximum     Percentage\n"
    for cause, (longest, share) in rows.items():
        text += f"{cause:<50} {longest / 10:>8.1f} msec      {share / 10:>5.1f} %\n"
    parsed = read("latencytop", text)
    assert parsed.rejects == []
    for cause, (longest, share) in rows.items():
        assert values(parsed, cause) == {
            "share": pytest.approx(share / 1000),
            "max_ns": pytest.approx(longest / 10 * 1e6),
        }


@quick
@given(cpu=shares(5), free=st.integers(1, 9999),
       processes=st.dictionaries(st.integers(1, 99999), st.integers(0, 100), max_size=4))  # fmt: skip
def test_freebsd_top(cpu: list[int], free: int, processes: dict[int, int]) -> None:
    names = ("user", "nice", "system", "interrupt", "idle")
    text = "last pid:  2211;  load averages:  1.86,  1.20,  0.62    up 0+00:41:20  12:31:05\n"
    text += "58 processes:  2 running, 56 sleeping\nCPU: "
    text += ", ".join(f"{share}.0% {name}" for share, name in zip(cpu, names, strict=True))
    text += f"\nMem: 17M Active, 60M Inact, {free}M Free\n\n"
    text += "  PID USERNAME    THR PRI NICE   SIZE    RES STATE   C   TIME    WCPU COMMAND\n"
    for pid, share in processes.items():
        text += f"{pid} root 1 118 0 12840K 11920K RUN 0 0:02 {share}.25% cc1\n"
    parsed = read("freebsd-top", text)
    assert parsed.rejects == []
    (one,) = parsed.intervals
    assert one.counters["idle_ns"] == pytest.approx(cpu[4] / 100 * 2e9)
    assert parsed.tables["memory_samples"][0]["free_bytes"] == free * 2**20
    for pid, share in processes.items():
        assert values(parsed, f"cc1 ({pid})")["cpu_share"] == pytest.approx((share + 0.25) / 100)
