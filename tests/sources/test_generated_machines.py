"""Machines whose truth is known, as sampling tools print them: no cause claims more than the text shows,
and where the text can tell, the right one comes first."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iowhy.sources.diagnose import diagnose
from iowhy.whys.verdict import Verdict, judge

SAMPLES = 5
#: Percentages are printed in whole points.
ROUNDING = 0.02
STORAGE = {
    "device-saturated", "device-slow", "queue-shallow", "random-access", "small-requests", "cache-thrash", "cache-cold",
    "sync-storm", "readahead-poor", "writeback-scattered", "device-contended", "metadata-cold",
}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """Percent of all CPUs' time; rates are those of one disk."""

    cpus: int
    user: int
    system: int
    iowait: int
    read_kib: int = 0
    written_kib: int = 0
    busy: int = 0
    depth: float = 0.0
    wait_ms: float = 0.0
    runnable: int = 0
    blocked: int = 0
    swap_kib: int = 0

    @property
    def idle(self) -> int:
        return 100 - self.user - self.system - self.iowait


def vmstat(of: Machine) -> str:
    text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    text += " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    row = f"{of.runnable} {of.blocked} 0 90000 1000 500000 {of.swap_kib} {of.swap_kib} {of.read_kib} {of.written_kib} "
    return text + f"{row} 100 200 {of.user} {of.system} {of.idle} {of.iowait} 0\n" * (SAMPLES + 1)


def banner(of: Machine) -> str:
    return f"Linux 6.1.0 (host) \t01/02/2023 \t_x86_64_\t({of.cpus} CPU)\n\n"


def iostat(of: Machine) -> str:
    text = (
        f"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  {of.user}.0 0.0 {of.system}.0 "
    )
    text += f"{of.iowait}.0 0.0 {of.idle}.0\n\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
    # Requests of 4 KiB.
    text += f"sda {of.read_kib / 4} {of.written_kib / 4} {of.read_kib} {of.written_kib} {of.wait_ms} {of.wait_ms} "
    return banner(of) + (text + f"{of.depth} {of.busy}.0\n\n") * (SAMPLES + 1)


def mpstat(of: Machine) -> str:
    text = banner(of)
    text += "10:00:00 CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
    for at in range(SAMPLES):
        text += f"10:00:{at + 1:02} all {of.user}.0 0.0 {of.system}.0 {of.iowait}.0 0 0 0 0 0 {of.idle}.0\n"
    return text


def sar(of: Machine) -> str:
    text = banner(of) + "10:00:00 CPU %user %nice %system %iowait %steal %idle\n"
    for at in range(SAMPLES):
        text += (
            f"10:00:{at + 1:02} all {of.user}.0 0.0 {of.system}.0 {of.iowait}.0 0.0 {of.idle}.0\n"
        )
    return text


def top(of: Machine) -> str:
    text = ""
    for at in range(SAMPLES):
        text += f"top - 10:00:{3 * at:02} up 1 day,  2 users,  load average: 4.10, 2.22, 1.03\n"
        text += f"%Cpu(s): {of.user}.0 us, {of.system}.0 sy, 0.0 ni, {of.idle}.0 id, {of.iowait}.0 wa, 0.0 hi, "
        text += "0.0 si, 0.0 st\n\n"
    return text


def one_screen(of: Machine) -> str:
    return top(of).split("\n\n")[0] + "\n"


FORMATS = {
    "vmstat": vmstat,
    "iostat": iostat,
    "mpstat": mpstat,
    "sar": sar,
    "top": top,
    "screen": one_screen,
}


def verdict(folder: Path, *texts: str) -> Verdict:
    files = []
    for at, text in enumerate(texts):
        (folder / f"{at}.txt").write_text(text)
        files.append(str(folder / f"{at}.txt"))
    return judge(diagnose(files, folder / "out.iowhy").recording)


def allowed(of: Machine, found: Verdict, tool: str) -> None:
    """No more is claimed than what the text shows, at most one CPU's worth for each CPU."""
    busy, waiting = (of.user + of.system) / 100, of.iowait / 100
    cpus = of.cpus if tool in ("iostat", "mpstat", "sar") else 1
    if tool == "vmstat" and of.runnable:
        # A load of 1/n with processes that wait to run fits n CPUs; the verdict says that it is taken for that.
        cpus = 8
    storage = min(1.0, waiting * cpus)
    if tool == "iostat":
        storage = min(storage, max(waiting, of.busy / 100))
    claimed = sum(one.share for one in found.findings if one.cause in STORAGE)
    assert claimed <= storage + ROUNDING, [(one.cause, one.share) for one in found.findings]
    computing = sum(one.share for one in found.findings if one.cause.startswith("cpu-"))
    assert computing <= min(1.0, busy * cpus) + ROUNDING
    assert sum(line.elapsed_share for line in found.budget.lines) == pytest.approx(1.0, abs=1e-6)
    if of.idle >= 80:
        assert computing <= 0.2 + ROUNDING, found.answer


machines = st.builds(
    lambda cpus, a, b, c, busy, kib, depth, wait, write: Machine(
        cpus=cpus, user=a, system=min(b, 100 - a), iowait=min(c, 100 - a - min(b, 100 - a)),
        read_kib=0 if write else kib, written_kib=kib if write else 0, busy=busy, depth=depth, wait_ms=wait,
        runnable=a // 10, blocked=c // 20,
    ),
    st.sampled_from([1, 2, 4, 16, 64]), st.integers(0, 100), st.integers(0, 60), st.integers(0, 100),
    st.integers(0, 100), st.integers(0, 200_000), st.floats(0, 64).map(lambda x: round(x, 1)),
    st.floats(0, 50).map(lambda x: round(x, 1)), st.booleans(),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(of=machines, tool=st.sampled_from(sorted(FORMATS)))
def test_no_cause_claims_more_than_the_text_shows(
    of: Machine, tool: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    allowed(of, verdict(tmp_path_factory.mktemp("m"), FORMATS[tool](of)), tool)


IDLE = Machine(cpus=8, user=2, system=1, iowait=0)
COMPUTES = Machine(cpus=4, user=92, system=7, iowait=0, runnable=9)
DISK = Machine(
    cpus=4,
    user=3,
    system=4,
    iowait=80,
    read_kib=1200,
    busy=100,
    depth=32.0,
    wait_ms=90.0,
    blocked=30,
)
STUCK = Machine(cpus=4, user=1, system=1, iowait=75, busy=100, depth=42.0, blocked=40)
REMOTE = Machine(cpus=4, user=2, system=3, iowait=80, blocked=12)


@pytest.mark.parametrize("tool", sorted(FORMATS))
def test_an_idle_machine_is_said_to_idle(tool: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, FORMATS[tool](IDLE))
    assert found.answer.startswith("Healthy"), found.answer
    assert all(one.share < 0.1 for one in found.findings)


@pytest.mark.parametrize("tool", sorted(FORMATS))
def test_a_machine_that_computes(tool: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, FORMATS[tool](COMPUTES))
    assert found.findings[0].cause.startswith("cpu-"), found.answer
    assert not any(one.cause in STORAGE for one in found.findings)


def test_a_disk_that_is_the_limit_and_one_that_is_stuck(tmp_path: Path) -> None:
    for name, of, cause in (("a", DISK, "device-saturated"), ("b", STUCK, "device-slow")):
        (tmp_path / name).mkdir()
        assert verdict(tmp_path / name, iostat(of)).findings[0].cause == cause


@pytest.mark.parametrize("tool", sorted(FORMATS))
def test_remote_storage_is_no_local_disks_fault(tool: str, tmp_path: Path) -> None:
    """The tools show waiting, and a local disk that does nothing."""
    found = verdict(tmp_path, FORMATS[tool](REMOTE))
    assert not any(one.cause.startswith(("device-", "queue-")) for one in found.findings), (
        found.answer
    )


def test_two_hosts_are_said_to_be_two(tmp_path: Path) -> None:
    found = verdict(tmp_path, iostat(DISK), iostat(IDLE).replace("(host)", "(other)"))
    assert any("different machines" in note for note in found.notes)
