"""The same workload through four tools: one cause, the same counts (make_sync.sh: 60 synced transactions)."""

from pathlib import Path

from iowhy.sources.diagnose import diagnose
from iowhy.whys.verdict import judge
from tests.sources.trace_reading import FIXTURES

TOOLS = ("sync-strace", "sync-strace-c-w", "sync-perf-trace", "sync-perf-trace-s")


def test_one_cause_through_four_tools(tmp_path: Path) -> None:
    counts = {}
    for name in TOOLS:
        text = (FIXTURES / f"{name}.txt").read_text()
        if name == "sync-strace-c-w":
            # The table does not say that its seconds are elapsed time: the prompt above it does.
            text = "$ strace -f -c -w sh work.sh\n" + text
        (tmp_path / f"{name}.txt").write_text(text)
        found = diagnose([str(tmp_path / f"{name}.txt")], tmp_path / f"{name}.iowhy")
        assert found.unread == (), name
        verdict = judge(found.recording)
        assert verdict.findings[0].cause == "sync-storm", (name, verdict.answer)
        assert verdict.findings[0].share > 0.5, name
        rows = found.recording.connection().execute(
            "SELECT name, sum(calls) FROM syscall_totals WHERE name IN ('fdatasync', 'fsync', 'pwrite64')"
            " GROUP BY name ORDER BY name"
        )
        counts[name] = rows.fetchall()
    assert counts[TOOLS[0]] == [("fdatasync", 69), ("pwrite64", 138)]
    assert all(count == counts[TOOLS[0]] for count in counts.values()), counts


def test_cpu_time_of_calls_is_no_waiting(tmp_path: Path) -> None:
    found = diagnose([str(FIXTURES / "sync-strace-c-w.txt")], tmp_path / "out.iowhy")
    verdict = judge(found.recording)
    assert verdict.findings == () and not verdict.budget.known, verdict.answer
    assert found.missing == ("strace -f -c -w -p {pid}",)
