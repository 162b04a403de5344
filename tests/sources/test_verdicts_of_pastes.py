"""Verdicts on pastes that were wrong once: what the numbers of a text allow, and no more."""

from pathlib import Path

import pytest

from iowhy.whys.verdict import Verdict
from tests.numbers_told import tells
from tests.sources.reading import FIXTURES, verdict

CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
DISK = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
)
SLOWER = "Tracing ext4 operations slower than 10 ms\nTIME     COMM  PID T BYTES OFF_KB LAT(ms) FILENAME\n"


def iostat(cpu: str, disk: str, cpus: int = 4) -> str:
    report = f"{CPU}  {cpu}\n\n{DISK}{disk}\n\n"
    return f"Linux 5.4.0 (h) 01/02/2023 _x86_64_ ({cpus} CPU)\n\n" + report * 5


def shares(found: Verdict) -> dict[str, float]:
    return {finding.cause: finding.share for finding in found.findings}


def chain(found: Verdict) -> str:
    return " ".join(link.statement for finding in found.findings for link in finding.chain)


def test_nobody_waits_for_a_disk_longer_than_it_is_busy(tmp_path: Path) -> None:
    """61 % iowait, and a disk that is busy 17 % of the time."""
    found = verdict(tmp_path, iostat("2 0 3 61 0 34", "sda 30 40 600 800 1.5 1.2 0.1 17"))
    assert shares(found).get("queue-shallow", 0.0) <= 0.171
    assert not tells(chain(found), "0.1 requests") and "cpu-serial" not in shares(found)


def test_a_machine_that_idles_idles(tmp_path: Path) -> None:
    disk = "sda 0 4 0 80 0 0.5 0 0.2"
    for at, (cpu, cpus) in enumerate(
        [("2 0 1 0 0 97", 32), ("3 0 3 0 0 94", 16), ("15 0 2 0 0 83", 8)]
    ):
        found = verdict(tmp_path / str(at), iostat(cpu, disk, cpus))
        assert bool(found.findings and found.findings[0].healthy), found.answer
        assert found.budget.elapsed("idle") >= 0.8
        assert "command waits" not in found.answer
    # A process that fills a CPU is somebody's work.
    top = "top - 10:00:0{} up 1 day, 1 user,  load average: 1.0, 1.0, 1.0\n"
    top += "%Cpu(s):  6.0 us,  0.5 sy,  0.0 ni, 93.5 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\n"
    top += "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    top += " 4711 db 20 0 1201m 802m 12m R 99.0 10.1 3:12.04 app\n\n"
    text = iostat("6 0 0.5 0 0 93.5", disk, 16) + "".join(top.format(at) for at in range(0, 9, 3))
    assert shares(verdict(tmp_path / "busy", text))["cpu-serial"] > 0.9


def test_an_aix_that_idles(tmp_path: Path) -> None:
    report = "tty:      tin         tout    avg-cpu: % user % sys % idle % iowait\n  0.0  20.1  1.0 1.0 97.5 0.5\n\n"
    found = verdict(tmp_path, "System configuration: lcpu=4 drives=1\n\n" + report * 4)
    assert found.budget.elapsed("idle") > 0.97


def test_a_disk_that_completes_nothing_is_stuck(tmp_path: Path) -> None:
    found = verdict(tmp_path, iostat("1 0 1 48 0 50", "sda 0 0 0 0 0 0 42 100"))
    assert found.findings[0].cause == "device-slow"
    assert tells(chain(found), "42 requests")


def test_seconds_at_a_ceiling_are_seen(tmp_path: Path) -> None:
    """600 requests/s, eight at once; the four seconds before, one at a time."""
    found = verdict(tmp_path, (FIXTURES / "iostat-12-dx-held.txt").read_text())
    assert found.findings[0].cause == "device-capped"
    values = {one.statement.id: one.value for one in found.findings[0].chain}
    assert values["device-capped.at"] == pytest.approx(600, rel=0.03)
    assert values["device-capped.needs"] == pytest.approx(600 * 13.2 / 2.1, rel=0.1)


@pytest.mark.parametrize(("user", "idle"), [(92, 0.3), (2, 90.3)], ids=["full", "idle"])
def test_a_ceiling_while_the_cpus_are_full(tmp_path: Path, user: float, idle: float) -> None:
    """They are in no iowait then, whoever waits; of CPUs that idle it says that nobody does."""
    text = (FIXTURES / "iostat-12-dx-held.txt").read_text()
    cpus = f"{CPU}          {user:.2f}    0.00    7.50    0.20    0.00   {idle:.2f}\n\n"
    found = verdict(tmp_path, text.replace("Device ", f"{cpus}Device "))
    capped = [one for one in found.findings if one.cause == "device-capped"]
    if idle > 1:
        assert not capped
        return
    assert found.findings[0].cause == "cpu-saturated"
    (one,) = capped
    assert one.share_of == "loop0's time" and 0.5 < one.share < 0.9
    assert {link.statement.id: link.value for link in one.chain}["device-capped.at"] == (
        pytest.approx(600, rel=0.03)
    )


def test_a_first_cold_read_is_not_one_that_does_not_fit(tmp_path: Path) -> None:
    head = "    HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB\n"
    rows = ["100 20000 0 0.50% 10 100", "100 20000 0 0.50% 10 180", "20000 0 0 100.00% 10 258"]
    assert "cache-thrash" not in shares(verdict(tmp_path / "a", head + "\n".join(rows) + "\n"))
    steady = [f"100 20000 0 0.50% 10 {at}" for at in (250, 258, 249, 258)]
    assert "cache-thrash" in shares(verdict(tmp_path / "b", head + "\n".join(steady) + "\n"))


def test_slow_calls_alone_are_no_base_of_shares(tmp_path: Path) -> None:
    slow = SLOWER + "".join(f"06:49:{s} bash 36{s} R 128 0 {s}.75 cksum\n" for s in range(17, 30))
    assert not verdict(tmp_path / "a", slow).budget.known
    found = verdict(
        tmp_path / "b", slow + "\n" + iostat("2 0 3 61 0 34", "sda 300 400 60000 800 9 9 9 99")
    )
    assert found.findings[0].cause == "device-saturated" and "Unexplained" not in found.answer
    assert any(tells(note, "13 read calls") for note in found.notes)


def test_a_device_that_only_writes_is_told_what_helps_writes(tmp_path: Path) -> None:
    for name, row, first in (
        ("a", "sda 0 3000 0 12000 0 40 80 99", "device-saturated.write-in-order"),
        ("b", "sda 3000 0 12000 0 40 0 80 99", "device-saturated.in-order"),
        ("c", "sda 0 150 0 30000 0 900 80 99", "shared.compress-any"),
    ):
        found = verdict(tmp_path / name, f"{DISK}{row}\n\n" * 3)
        (finding, *_) = found.findings
        assert (finding.cause, finding.fixes[0].do.id) == ("device-saturated", first), row


def test_what_the_kernel_has_removed_cannot_be_copied(tmp_path: Path) -> None:
    ids = {}
    for name in ("pastes/nvmedown", "pastes/ata-medium"):
        text = (FIXTURES.parent / f"{name}.txt").read_text()
        found = verdict(tmp_path / name.rpartition("/")[2], text)
        ids[name] = [one.do.id for one in found.findings[0].fixes]
    assert ids["pastes/nvmedown"] == ["device-failing.there", "device-failing.reconnect"]
    assert ids["pastes/ata-medium"][0] == "device-failing.copy-replace-device"


def test_waiting_without_a_direction_has_none(tmp_path: Path) -> None:
    screen = "top - 10:15:01 up 10 days,  2 users,  load average: 12.10, 11.22, 9.03\n"
    screen += "%Cpu(s):  3.1 us,  2.0 sy,  0.0 ni, 24.9 id, 69.8 wa,  0.0 hi,  0.2 si,  0.0 st\n"
    found = verdict(tmp_path / "a", screen)
    assert found.budget.elapsed("waiting to read") == 0 == found.budget.elapsed("waiting to write")
    assert "I/O" in found.answer or "waiting" in found.answer
    row = "1 8 0 90000 1000 500000 0 0 {} {} 100 200 2 3 5 90 0\n"
    for at, (read, written) in enumerate([(0, 90000), (90000, 0)]):
        found = verdict(tmp_path / f"v{at}", VMSTAT + row.format(read, written) * 6)
        assert found.budget.elapsed("waiting to read") == (0.9 if read else 0)


def test_fios_own_time_is_shared_by_its_calls(tmp_path: Path) -> None:
    """95 ms for 456 writes and 4.55 s for 455 syncs in 5 s of one job."""
    text = (
        "job: (groupid=0, jobs=1): err= 0: pid=7: Mon Dec 16 12:34:15 2019\n"
        "  write: IOPS=91, BW=364KiB/s (1kB/s)(1824KiB/5000msec); 0 zone resets\n"
        "     lat (usec): min=1, max=999, avg=208.33, stdev= 3.47\n"
        "  fsync/fdatasync/sync_file_range:\n"
        "    sync (msec): min=1, max=99, avg=10.00, stdev= 3.47\n"
        "  cpu          : usr=1.00%, sys=2.00%, ctx=100, majf=0, minf=12\n"
        "     issued rwts: total=0,456,0,455 short=0,0,0,0 dropped=0,0,0,0\n"
    )
    found = verdict(tmp_path, text)
    # The kernel's CPU time is taken off the calls, each by its part.
    assert abs(found.budget.elapsed("waiting for sync") - (4.645 - 0.1) * 4.55 / 4.645 / 5) < 1e-3
    assert abs(found.budget.elapsed("on-CPU kernel") - 0.02) < 1e-6
    assert any("fio's own time" in note for note in found.notes)


def test_a_device_with_a_queue_is_no_idle_machines(tmp_path: Path) -> None:
    """Asynchronous writes: nobody is seen to wait, and yet the device is no healthy machine's."""
    found = verdict(
        tmp_path, iostat("0.3 0 3.4 0.1 0 96.2", "dm-0 0 60361 0 241463 0 2.53 152.5 78.3")
    )
    assert not bool(found.findings and found.findings[0].healthy)


def causes(found: Verdict) -> list[str]:
    return [one.cause for one in found.findings]


def alone(row: str) -> str:
    return f"Linux 5.4.0 (h) 01/02/2023 _x86_64_ (4 CPU)\n\n{f'{DISK}{row}{chr(10) * 2}' * 3}"


def test_a_device_alone_is_slow_if_it_is_used_and_late(tmp_path: Path) -> None:
    """50 ms a request, at a tenth of the time or less; with a queue beyond twice what is allowed, unless always busy."""
    for at, (row, slow) in enumerate(
        [
            ("sda 0 12 0 48 0 50 0.6 21", True),
            ("sda 0 12 0 48 0 50 0.6 9", False),
            ("sda 0 12 0 48 0 15 0.6 21", False),
            ("sda 20 40 5000 500 90 60 5.9 64", True),
            ("sda 20 40 5000 500 30 30 5.9 64", False),
            ("sda 20 40 5000 500 90 60 5.9 95", False),
        ]
    ):
        assert ("device-slow" in causes(verdict(tmp_path / str(at), alone(row)))) == slow, row


def test_a_machine_is_no_program(tmp_path: Path) -> None:
    """CPU time next to a device that works may be others'; a process that fills a CPU is one program's."""
    for at, (disk, serial) in enumerate(
        [("sda 24 42 5632 504 99 58 5.9 64", False), ("sda 0 1 0 4 0 1 0 1", True)]
    ):
        found = verdict(tmp_path / str(at), iostat("54 0 4 5 0 37", disk, 16))
        assert ("cpu-serial" in causes(found)) == serial


def test_without_the_number_of_cpus_waiting_is_a_lower_bound(tmp_path: Path) -> None:
    text = iostat("1 0 1 3 0 95", "sda 0 4 0 80 0 1 0.1 3").partition("\n\n")[2]
    known = verdict(tmp_path / "a", f"Linux 5.4.0 (h) 01/02/2023 _x86_64_ (4 CPU)\n\n{text}")
    assert known.findings[0].healthy
    assert not any(one.healthy for one in verdict(tmp_path / "b", text).findings)
    late = verdict(
        tmp_path / "c", iostat("1 0 1 20 0 78", "sda 0 400 0 80000 0 90 50 99").partition("\n\n")[2]
    )
    assert (
        late.findings[0].cause == "device-saturated" and late.saved(late.findings[0].fixes[0]) == ""
    )


def test_what_is_cut_off_is_no_whole(tmp_path: Path) -> None:
    """A table that lacks its last columns shows neither a full machine nor a healthy one."""
    cut = "\n".join(
        line[:34] for line in iostat("60 0 10 20 0 10", "sda 0 400 0 80000 0 9 5 99").splitlines()
    )
    found = verdict(tmp_path, cut)
    assert causes(found) == []


def test_more_processes_than_cpus_leave_none_idle(tmp_path: Path) -> None:
    row = "47 2 0 90000 1000 500000 0 0 300 9000 100 200 36 4 59 1 0\n"
    assert causes(verdict(tmp_path, VMSTAT + row * 6)) == []
