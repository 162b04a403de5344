"""Machines whose truth is known, as sampling tools print them: no cause claims more than the text shows,
and where the text can tell, the right one comes first."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import Diagnosis, diagnose
from iowhy.whys.verdict import Verdict, judge
from tests.examples import TIMES, costly

from . import machines
from .machines import TOOLS, Machine, iostat, mpstat, vmstat

#: Percentages are printed in whole points.
ROUNDING = 0.02
STORAGE = {
    "device-saturated", "device-slow", "queue-shallow", "random-access", "small-requests", "cache-thrash", "cache-cold",
    "sync-storm", "readahead-poor", "writeback-scattered", "device-contended", "metadata-cold", "memory-pressure",
}  # fmt: skip


def read(folder: Path, *texts: str, host: str | None = None) -> tuple[Diagnosis, Verdict]:
    files = []
    for at, text in enumerate(texts):
        (folder / f"{at}.txt").write_text(text)
        files.append(str(folder / f"{at}.txt"))
    found = diagnose(files, folder / "out.iowhy", host=host)
    return found, judge(found.recording)


@cache
def verdict(tool: str, of: Machine) -> Verdict:
    with TemporaryDirectory() as folder:
        return read(Path(folder), TOOLS[tool].text(of))[1]


def allowed(of: Machine, found: Verdict, name: str) -> None:
    """No more is claimed than what the text shows, at most one CPU's worth for each CPU."""
    tool = TOOLS[name]
    claims = {one.cause: one.share for one in found.findings}
    storage = sum(share for cause, share in claims.items() if cause in STORAGE)
    computing = sum(share for cause, share in claims.items() if cause.startswith("cpu-"))
    if not tool.cpu:
        # No time is known: a device's own share of it at most, and nothing of CPUs.
        assert storage <= (of.busy / 100 if tool.disk else 0) + ROUNDING, claims
        assert not computing
        return
    busy, waiting = (of.user + of.system + of.steal) / 100, of.iowait / 100
    # A load of 1/n with processes that wait to run fits n CPUs; the verdict says that it is taken for that.
    fitted = (name.endswith("vmstat") or name == "dstat") and of.runnable
    cpus = of.cpus if tool.cpus else 8 if fitted else 1
    most = min(1.0, waiting * cpus)
    if not tool.iowait:  # BSD: idle CPUs while processes are blocked
        most = 1.0 if name == "freebsd-vmstat" and of.blocked else 0.0
    elif tool.disk:
        most = min(most, max(waiting, of.busy / 100))
    assert storage <= most + ROUNDING, claims
    assert computing <= min(1.0, busy * cpus) + ROUNDING, claims
    assert sum(line.elapsed_share for line in found.budget.lines) == pytest.approx(1.0, abs=1e-6)
    if of.idle >= 80:
        assert computing <= 0.2 + ROUNDING, found.answer


any_machine = st.builds(
    lambda cpus, a, b, c, d, busy, kib, depth, wait, write, swap: Machine(
        cpus=cpus, user=a, system=min(b, 100 - a), iowait=min(c, 100 - a - min(b, 100 - a)),
        steal=min(d, 100 - a - min(b, 100 - a) - min(c, 100 - a - min(b, 100 - a))),
        read_kib=0 if write else kib, written_kib=kib if write else 0, busy=busy, depth=depth, wait_ms=wait,
        runnable=a // 10, blocked=c // 20, swap_kib=swap,
    ),
    st.sampled_from([1, 2, 4, 16, 64]), st.integers(0, 100), st.integers(0, 60), st.integers(0, 100), st.integers(0, 40),
    st.integers(0, 100), st.integers(0, 200_000), st.floats(0, 64).map(lambda x: round(x, 1)),
    st.floats(0, 50).map(lambda x: round(x, 1)), st.booleans(), st.sampled_from([0, 0, 100, 20_000]),
)  # fmt: skip


@costly(8)
@given(of=any_machine, tool=st.sampled_from(sorted(TOOLS)))
def test_no_cause_claims_more_than_the_text_shows(
    of: Machine, tool: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found, judged = read(tmp_path_factory.mktemp("m"), TOOLS[tool].text(of))
    assert not found.unread
    allowed(of, judged, tool)


IDLE = Machine(cpus=8, user=2, system=1, iowait=0)
COMPUTES = Machine(cpus=4, user=92, system=7, iowait=0, runnable=9)
DISK = Machine(
    cpus=4, user=3, system=4, iowait=80, read_kib=1200, busy=100, depth=32.0, wait_ms=90.0, blocked=30
)  # fmt: skip
THRASHES = Machine(
    cpus=4, user=2, system=10, iowait=75, read_kib=20_000, written_kib=20_000, busy=100, depth=40.0, wait_ms=15.0,
    blocked=20, swap_kib=20_000,
)  # fmt: skip
THROTTLED = Machine(cpus=4, user=30, system=5, iowait=0, steal=60, runnable=9)
STUCK = Machine(cpus=4, user=1, system=1, iowait=75, busy=100, depth=42.0, blocked=40)
REMOTE = Machine(cpus=4, user=2, system=3, iowait=80, blocked=12)
#: Tools whose first report is an average since boot.
SINCE_BOOT = ("vmstat", "iostat", "freebsd-vmstat", "freebsd-iostat", "aix-iostat", "solaris-iostat", "zpool-iostat",
              "dstat", "macos-iostat")  # fmt: skip
TRUTHS = (IDLE, COMPUTES, DISK, THRASHES, THROTTLED, STUCK, REMOTE)


def tools(**has: bool) -> list[str]:
    return sorted(
        name for name, tool in TOOLS.items() if all(getattr(tool, k) == v for k, v in has.items())
    )


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_no_truth_is_claimed_beyond_its_text(tool: str) -> None:
    for of in TRUTHS:
        allowed(of, verdict(tool, of), tool)


@pytest.mark.parametrize("tool", tools(cpu=True))
def test_an_idle_machine_is_said_to_idle(tool: str) -> None:
    found = verdict(tool, IDLE)
    assert (
        bool(found.findings and found.findings[0].healthy) or found.budget.elapsed("idle") > 0.96
    ), found.answer
    assert all(one.share < 0.1 for one in found.findings)


def test_idle_that_may_be_waiting_is_not_called_healthy() -> None:
    """FreeBSD's top counts waiting for storage as idle."""
    found = verdict("freebsd-top", DISK)
    assert not bool(found.findings and found.findings[0].healthy), found.answer


@pytest.mark.more
@pytest.mark.parametrize("tool", SINCE_BOOT)
def test_averages_since_boot_prove_nothing(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only the first report was pasted, whatever it says."""
    monkeypatch.setattr(machines, "SAMPLES", 0)
    for at, of in enumerate(TRUTHS if TIMES > 1 else (COMPUTES, DISK, THROTTLED)):
        (folder := tmp_path / str(at)).mkdir()
        diagnosis, found = read(folder, TOOLS[tool].text(of))
        assert not found.findings and not bool(found.findings and found.findings[0].healthy), (
            found.answer
        )
        assert diagnosis.missing, "which command tells of the load is said"


@pytest.mark.parametrize("tool", tools(cpu=True))
def test_a_machine_that_computes(tool: str) -> None:
    found = verdict(tool, COMPUTES)
    assert found.findings[0].cause.startswith("cpu-"), found.answer
    assert not any(one.cause in STORAGE for one in found.findings)


@pytest.mark.parametrize("tool", [*tools(disk=True), "sadf"])
def test_a_disk_that_is_the_limit_and_one_that_is_stuck(tool: str) -> None:
    for of, cause in ((DISK, "device-saturated"), (STUCK, "device-slow")):
        found = verdict(tool, of)
        assert [one.cause for one in found.findings][:1] == [cause], found.answer
        assert of is DISK or "stuck" in found.answer


@pytest.mark.parametrize("tool", tools(swap=True))
def test_a_machine_that_thrashes(tool: str) -> None:
    found = verdict(tool, THRASHES)
    assert found.findings[0].cause == "memory-pressure", found.answer


@pytest.mark.parametrize("tool", tools(steal=True))
def test_a_machine_whose_cpus_are_taken(tool: str) -> None:
    found = verdict(tool, THROTTLED)
    assert found.findings[0].cause == "cpu-throttled", found.answer


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_remote_storage_is_no_local_disks_fault(tool: str) -> None:
    """The tools show waiting, and a local disk that does nothing."""
    found = verdict(tool, REMOTE)
    assert not any(one.cause.startswith(("device-", "queue-")) for one in found.findings), (
        found.answer
    )


def test_of_two_hosts_one_is_judged(tmp_path: Path) -> None:
    """In one paste and in two files: one's waiting is never put down to the other's disk."""
    other = replace(DISK, name="other", cpus=2)
    paste = mpstat(IDLE) + "\n" + iostat(other)
    for at, texts in enumerate([(paste,), (mpstat(IDLE), iostat(other))]):
        for host, healthy in ((None, True), ("host", True), ("other", False)):
            (folder := tmp_path / f"{at}{host}").mkdir()
            found, judged = read(folder, *texts, host=host)
            assert bool(judged.findings and judged.findings[0].healthy) == healthy, judged.answer
            assert found.recording.manifest.host.cpus == (8 if healthy else 2)
            assert any("different machines" in note for note in judged.notes)


def test_a_broken_part_costs_no_other(tmp_path: Path) -> None:
    broken = "top - 10:0\x00:99 up\n\nTasks: -1\n%Cpu(s): nan us, 900.0 wa\n"
    found, judged = read(tmp_path, vmstat(COMPUTES) + "\n" + broken + "\n" + iostat(COMPUTES))
    assert {"vmstat", "iostat"} <= {part.format for part in found.parts}
    assert judged.findings[0].cause == "cpu-saturated", judged.answer
