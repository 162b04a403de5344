"""Tables of system calls, written from generated data and read back: perf trace -s, strace -c."""

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import costly
from tests.sources.trace_reading import read_text, rows

NAMES = ["read", "pread64", "fsync", "openat", "_newselect", "io_uring_enter"]
CALLS = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.integers(1, 9_999_999), st.integers(0, 9999), st.integers(0, 10**9)),
    min_size=1,
)


@costly(10)
@given(st.dictionaries(st.integers(2, 99_999), CALLS, min_size=1, max_size=3), st.booleans())
def test_perf_trace_s(threads: dict, errors: bool) -> None:
    """`errors`: the column that perf has since 5.10; microseconds are what it can print."""
    text = "\n Summary of events:\n"
    for tid, calls in threads.items():
        text += f"\n my prog ({tid}), 12 events, 1.0%\n\n"
        head = " errors " if errors else ""
        text += (
            f"   syscall            calls {head} total       min       avg       max       stddev\n"
        )
        text += (
            "                                     (msec)    (msec)    (msec)    (msec)        (%)\n"
        )
        text += "   --------------- --------  ------ -------- --------- --------- ---------     ------\n"
        for name, (count, failed, us) in calls.items():
            told = f" {failed:6d}" if errors else ""
            ms = us / 1000
            text += (
                f"   {name:<15} {count:8d}{told} {ms:9.3f} {0:9.3f} {0:9.3f} {ms:9.3f}     12.34%\n"
            )
        text += "\n"
    parsed = read_text("perf_trace_summary", text)
    assert parsed.rejects == []
    found = {
        (r["tid"], r["name"]): (r["calls"], r["errors"], r["total_ns"], r["max_ns"])
        for r in rows(parsed, "syscall_totals")
    }
    assert found == {
        (tid, name): (count, failed if errors else 0, us * 1000, us * 1000)
        for tid, calls in threads.items()
        for name, (count, failed, us) in calls.items()
    }


@costly(10)
@given(CALLS, st.sampled_from(["\n", "\r\n"]))
def test_strace_c(calls: dict, end: str) -> None:
    rule = "------ ----------- ----------- --------- --------- ----------------"
    lines = ["% time     seconds  usecs/call     calls    errors syscall", rule]
    whole = sum(us for _, _, us in calls.values()) or 1
    for name, (count, failed, us) in calls.items():
        share = 100 * us / whole
        lines.append(
            f"{share:6.2f} {us / 1e6:11.6f} {us // count:11d} {count:9d} {failed or '':>9} {name}"
        )
    total = sum(count for count, _, _ in calls.values())
    lines += [rule, f"100.00 {whole / 1e6:11.6f} {0:11d} {total:9d} {'':9} total", ""]
    parsed = read_text("strace_summary", end.join(lines))
    assert parsed.rejects == []
    found = {
        r["name"]: (r["calls"], r["errors"], r["total_ns"]) for r in rows(parsed, "syscall_totals")
    }
    assert found == {
        name: (count, failed, us * 1000) for name, (count, failed, us) in calls.items()
    }
