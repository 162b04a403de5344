"""btt, perf report, perf stat, nfsiostat and docker stats: written from generated data and read back; real outputs."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.numbers_told import tells

from .reading import fixture, quick, read, values

STEPS = ("Q2Q", "Q2G", "I2D", "D2C", "Q2C")
NS = st.integers(1, 10**12)


@quick
@given(rows=st.dictionaries(st.sampled_from(STEPS), st.tuples(NS, NS, NS, st.integers(1, 10**9)), min_size=1),
       narrow=st.booleans())  # fmt: skip
def test_btt(rows: dict[str, tuple[int, int, int, int]], narrow: bool) -> None:
    gap = " " if narrow else "     "
    text = f"==================== All Devices ====================\n\n{gap}ALL{gap}MIN{gap}AVG{gap}MAX{gap}N\n--- --- ---\n\n"
    for step, (least, mean, longest, count) in rows.items():
        cells = (f"{ns // 10**9}.{ns % 10**9:09}" for ns in (least, mean, longest))
        text += gap.join((step, *cells, str(count))) + "\n"
    text += "\n==================== Device Overhead ====================\n\n   DEV |  Q2G   G2I\n (  8,  0) |   0.0084%   0.2649%\n"
    parsed = read("btt", text)
    found = values(parsed, "all")
    assert not parsed.rejects
    for step, (_, mean, longest, count) in rows.items():
        assert found[f"{step.lower()}_mean_ns"] == pytest.approx(mean)
        assert found[f"{step.lower()}_max_ns"] == pytest.approx(longest)
        assert found[f"{step.lower()}_count"] == count
    told = {"D2C", "Q2C"} <= rows.keys() and rows["D2C"][1] <= rows["Q2C"][1]
    assert ("d2c_share" in found) == told


def test_real_btts() -> None:
    found = values(fixture("btt", "btt-ibm.txt"), "all")
    assert found["d2c_mean_ns"] == 34_028_080 and found["d2c_share"] == pytest.approx(
        0.9048, abs=1e-4
    )
    assert values(fixture("btt", "btt-sles.txt"), "all")["q2g_count"] == 42


@quick
@given(rows=st.lists(st.tuples(st.integers(0, 9999), st.sampled_from(["dd", "test 1"]), st.sampled_from("k."),
                               st.from_regex(r"[a-z_]{1,20}", fullmatch=True)), max_size=8), children=st.booleans())  # fmt: skip
def test_perf_report(rows: list[tuple[int, str, str, str]], children: bool) -> None:
    text = "# Samples: 13K of event 'cpu-clock'\n# Event count (approx.): 273580000\n#\n"
    text += (
        "# Children      Self" if children else "# Overhead"
    ) + "  Command  Shared Object  Symbol\n# ........  ....\n#\n"
    for share, comm, kind, symbol in rows:
        both = f"{'100.00%':>10}" if children else ""
        text += f"{both}{share / 100:>9.2f}%  {comm:<15}  [kernel.kallsyms]  [{kind}] {symbol}\n"
        text += "            |\n            ---main\n               |--50.30%--wrapper\n" * children
    parsed = read("perf-report", text)
    assert not parsed.rejects and (parsed.partial is not None) == bool(rows)
    found = [(row["subject"], row["value"]) for row in parsed.tables.get("measurements", [])]
    assert found == [
        (f"{symbol} ({comm})", pytest.approx(share / 10**4)) for share, comm, _, symbol in rows
    ]


def test_real_perf_reports() -> None:
    found = values(fixture("perf-report", "perf-report-6.1.txt"), "exc_page_fault (dd)")
    assert found["sample_share"] == pytest.approx(0.0308)
    assert values(fixture("perf-report", "perf-report-3.10.txt"), "0x000003c3 (test1)")[
        "sample_share"
    ] == pytest.approx(0.9977)
    parsed = fixture("perf-report", "perf-report-hackbench.txt")
    assert not parsed.rejects and any(tells(note, "100 %") for note in parsed.notes)


@quick
@given(clock_us=st.integers(0, 10**9), elapsed_us=st.integers(1, 10**9), switches=st.integers(0, 10**9),
       style=st.sampled_from(["3", "4", "6"]))  # fmt: skip
@example(clock_us=4187, elapsed_us=4187, switches=0, style="3")
def test_perf_stat(clock_us: int, elapsed_us: int, switches: int, style: str) -> None:
    msec = (
        f"{clock_us // 1000:,}.{clock_us % 1000:03}" if style == "6" else f"{clock_us / 1000:.6f}"
    )
    clock = {
        "3": f"{msec} task-clock                #    0.991 CPUs utilized",
        "4": f"{msec}      task-clock (msec)         #    0.824 CPUs utilized",
        "6": f"{msec} msec task-clock                       #    0.859 CPUs utilized",
    }[style]
    text = f"\n Performance counter stats for 'dd if=x of=y':\n\n   {clock}\n   {switches:,}      context-switches   #  109.695 /sec\n"
    text += (
        "   <not supported>      cycles\n 5,649,595,479 instructions  #  1.53  insns per cycle\n"
    )
    text += "                 #    0.21  stalled cycles per insn [83.51%]\n\n"
    text += f"       {elapsed_us / 1e6:.9f} seconds time elapsed\n\n       0.000000000 seconds user\n       0.121675000 seconds sys\n"
    parsed = read("perf-stat", text)
    assert not parsed.rejects
    found = values(parsed, "dd if=x of=y")
    assert found["cpu_ns"] == pytest.approx(clock_us * 1e3)
    assert found["elapsed_s"] == pytest.approx(elapsed_us / 1e6)
    # "1,234" alone may be either: it is not known.
    assert found.get("context_switches") == (None if 10**3 <= switches < 10**6 else switches)
    assert found["cpus_used"] == pytest.approx(clock_us / elapsed_us)
    percent = 100 * clock_us / elapsed_us
    if percent != pytest.approx(99.5):  # there the last digit of a quotient decides
        assert any("did not run" in note for note in parsed.notes) == (percent < 99.5)


def test_real_perf_stats() -> None:
    assert values(fixture("perf-stat", "perf-stat-3.x.txt"), "gzip file1")[
        "cpu_ns"
    ] == pytest.approx(1920159821)
    found = values(fixture("perf-stat", "perf-stat-4.x.txt"), "./loader c")
    assert found["cpus_used"] == pytest.approx(0.8244, abs=1e-4)
    assert not fixture("perf-stat", "perf-stat-6.1.txt").rejects


SIDE = st.tuples(*[st.integers(0, 10**6)] * 4)


@quick
@given(
    reports=st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=3),
    new=st.booleans(),
    seconds=st.integers(1, 60),
)
def test_nfsiostat(
    reports: list[tuple[tuple[int, ...], tuple[int, ...]]], new: bool, seconds: int
) -> None:
    more = "  avg queue (ms)          errors" if new else ""
    text = ""
    for sides in reports:
        text += "\nnas:/export mounted on /data:\n\n           ops/s       rpc bklog\n          12.140           0.250\n\n"
        for name, (ops, kib, rtt, exe) in zip(("read", "write"), sides, strict=True):
            text += f"{name}:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms){more}\n"
            text += f"       {ops / 1000:.3f}  {kib}.000  4.254   3 (0.5%)  {rtt / 1000:.3f}  {exe / 1000:.3f}"
            text += "  0.020   0 (0.0%)" * new + "\n"
    parsed = read("nfsiostat", text, f"nfsiostat {seconds}")
    assert not parsed.rejects and (parsed.partial is not None) == (len(reports) == 1)
    taken = reports[1:] or reports
    rows = [row for row in parsed.tables["measurements"] if row["metric"] == "write_rtt_mean_ns"]
    assert [row["value"] for row in rows] == pytest.approx([side[1][2] * 1000 for side in taken])
    times = [at * seconds * 10**9 for at in range(1, len(reports))] or [None]
    assert [row["ts_ns"] for row in rows] == times
    last = values(parsed, "/data")
    assert last["read_bytes_per_s"] == taken[-1][0][1] * 1024
    assert last["read_retransmitted_share"] == pytest.approx(0.005) and last["backlog"] == 0.25


def test_real_nfsiostats() -> None:
    parsed = fixture("nfsiostat", "nfsiostat-ollama.txt")
    assert any(tells(note, "write", "921 ms") for note in parsed.notes)
    assert parsed.partial is not None
    parsed = fixture("nfsiostat", "nfsiostat-pcp.txt")
    assert values(parsed, "/nfs-mount")["read_ops_per_s"] == 108 and not parsed.rejects


@quick
@given(rows=st.dictionaries(st.from_regex(r"[a-z][a-z0-9_-]{2,12}", fullmatch=True),
                            st.tuples(st.integers(0, 40000), st.integers(1, 999), st.integers(0, 9999)), min_size=1, max_size=4),
       old=st.booleans())  # fmt: skip
def test_docker_stats(rows: dict[str, tuple[int, int, int]], old: bool) -> None:
    if old:
        text = "CONTAINER           CPU %               MEM USAGE/LIMIT     MEM %               NET I/O\n"
    else:
        text = "CONTAINER ID   NAME   CPU %     MEM USAGE / LIMIT     MEM %     NET I/O      BLOCK I/O         PIDS\n"
    for name, (cpu, used, written) in rows.items():
        if old:
            text += (
                f"{name}   {cpu / 100:.2f}%    {used} MiB/1000 MiB   4.14%    2.945 MiB/781.2 KiB\n"
            )
        else:
            text += f"22030b705436   {name}   {cpu / 100:.2f}%   {used}MiB / 1000MiB   0.30%   1.2kB / 0B   31.3MB / {written}kB   7\n"
    parsed = read("docker-stats", text)
    assert not parsed.rejects
    for name, (cpu, used, written) in rows.items():
        found = values(parsed, name)
        assert found["container_cpu_share"] == pytest.approx(cpu / 10**4)
        assert found["memory_bytes"] == used * 2**20
        assert found.get("since_start_written_bytes") == (None if old else written * 1000)
        assert any(note.startswith(f"{name} uses") for note in parsed.notes) == (used >= 950)


def test_real_docker_stats() -> None:
    found = values(fixture("docker-stats", "docker-stats-27.txt"), "competent_ishizaka")
    assert found["since_start_read_bytes"] == pytest.approx(31.3e6)
    assert (
        values(fixture("docker-stats", "docker-stats-1.4.txt"), "fbmysql")["memory_limit_bytes"]
        == 994 * 2**20
    )
