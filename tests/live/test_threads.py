"""Every thread-second is in one state, and the states agree with the kernel's own accounting."""

import os
import re
from pathlib import Path

import pytest

from machine import ask, filesystem, one, python, record

#: Times of this command and of the kernel are compared, and a recorder without a CPU loses events.
pytestmark = [
    pytest.mark.usefixtures("live", "before_others"),
    pytest.mark.disturbed_by("cpu", "disk"),
]

THIRDS = """
import mmap, os, sys, time
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
page = mmap.mmap(-1, 4096)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
spin(1)
time.sleep(1)
end = time.monotonic() + 1
while time.monotonic() < end:
    os.preadv(fd, [page], 0)
print(open("/proc/self/schedstat").read(), open("/proc/self/stat").read().rsplit(")")[1])
"""


@pytest.mark.alone
def test_a_second_each_of_spinning_sleeping_and_reading(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "file"
        file.write_bytes(bytes(4096))
        recording = record(python(THIRDS, file), tmp_path / "a.iowhy")
    user, kernel, runnable, blocked, sleeping, total, reach = ask(
        recording,
        "SELECT sum(cpu_user_ns)/1e9, sum(cpu_kernel_ns)/1e9, sum(runnable_ns)/1e9,"
        " sum(blocked_ns)/1e9, sum(sleeping_ns)/1e9, sum(interval_ns)/1e9,"
        " (max(ts_ns + interval_ns) - min(ts_ns))/1e9 FROM thread_time",
    )[0]
    assert user + kernel + runnable + blocked + sleeping == pytest.approx(total, abs=1e-6)
    assert total == pytest.approx(reach, rel=0.01)  # one thread: no gap, no overlap
    # On a busy machine some of the time is spent waiting for a CPU; the rest is where it must be.
    assert 0.98 <= sleeping <= 1.2
    assert user + kernel + runnable + blocked >= 1.95
    assert blocked > 0.05  # the reads wait for the device


@pytest.mark.alone
@pytest.mark.parametrize("threads", [1, 200])
def test_cpu_time_is_that_of_schedstat(tmp_path: Path, threads: int) -> None:
    code = f"""
import os, threading
measured = []
def work():
    for _ in range(40_000): pass
    os.sched_yield()  # the kernel brings the figure up to date at switches and ticks only
    fields = open("/proc/thread-self/schedstat").read().split()
    measured.append((threading.get_native_id(), int(fields[0])))
others = [threading.Thread(target=work) for _ in range({threads})]
for t in others: t.start()
for t in others: t.join()
open(__import__("sys").argv[1], "w").write("\\n".join(f"{{t}} {{ns}}" for t, ns in measured))
"""
    listed = tmp_path / "schedstat"
    recording = record(python(code, listed), tmp_path / "a.iowhy")
    kernel = dict(map(int, line.split()) for line in listed.read_text().splitlines())
    assert len(kernel) == threads
    ours = dict(
        ask(
            recording,
            "SELECT tid, sum(cpu_user_ns + cpu_kernel_ns)::BIGINT FROM thread_time GROUP BY tid",
        )
    )
    assert set(kernel) <= set(ours)
    # The threads read their own figure a little before they end.
    spent = sum(ours[tid] for tid in kernel)
    in_kernel = sum(kernel.values())
    assert in_kernel * 0.99 <= spent <= in_kernel * 1.01 + threads * 1_500_000


def test_ten_thousand_children_are_all_there(tmp_path: Path) -> None:
    code = """
import os
for _ in range(10_000):
    pid = os.fork()
    if not pid: os._exit(7)
    os.waitpid(pid, 0)
"""
    recording = record(python(code), tmp_path / "a.iowhy")
    assert one(recording, "SELECT count(DISTINCT tgid) FROM threads") == 10_001
    # A wait status carries the exit code in its second byte (wait(2)).
    assert one(recording, "SELECT count(*) FROM threads WHERE exit_code = 7 * 256") == 10_000
    assert recording.manifest.lost() == 0
    assert (
        one(recording, "SELECT sum(calls)::BIGINT FROM syscall_totals WHERE name = 'wait4'")
        == 10_000
    )


def test_a_command_that_execs_is_followed(tmp_path: Path) -> None:
    code = "import os; os.execvp('sh', ['sh', '-c', 'exec dd if=/dev/zero of=/dev/null bs=7 count=31'])"
    recording = record(python(code), tmp_path / "a.iowhy")
    assert one(recording, "SELECT count(*) FROM syscalls WHERE name = 'write' AND bytes = 7") == 31
    assert ask(recording, "SELECT DISTINCT comm FROM threads") == [("dd",)]


def test_waits_lie_inside_blocked_time_and_have_a_reason(tmp_path: Path) -> None:
    code = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(50):
    os.write(fd, bytes(8192)); os.fsync(fd)
"""
    with filesystem("ext4", tmp_path) as scratch:
        recording = record(python(code, scratch.mount / "f"), tmp_path / "a.iowhy")
    waited, blocked = ask(
        recording,
        "SELECT (SELECT sum(dur_ns) FROM waits)::BIGINT, (SELECT sum(blocked_ns) FROM thread_time)::BIGINT",
    )[0]
    assert waited == pytest.approx(blocked, rel=0.02)
    reasons = dict(
        ask(
            recording,
            "SELECT reason, sum(dur_ns)::BIGINT FROM waits WHERE syscall = 'fsync' GROUP BY 1",
        )
    )
    assert reasons.pop("other", 0) <= 0.05 * sum(reasons.values()), reasons
    assert set(reasons) <= {
        "page_writeback",
        "journal_commit",
        "device_flush",
        "inode_lock",
        "request_queue_full",
        "journal_space",
        "page_lock",
        "metadata_read",
        "writeback_throttle",
    }, reasons
    assert reasons.get("journal_commit", 0) > 0
    frames = one(
        recording,
        "SELECT count(*) FROM waits w JOIN stacks s USING (stack_id)"
        " WHERE w.syscall = 'fsync' AND len(s.frames) > 3",
    )
    assert isinstance(frames, int) and frames > 0


def test_names_with_spaces_and_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    code = r"""
import os, sys
folder = os.fsencode(sys.argv[1])
for name in (b"with space", b"caf\xe9", b"new\nline", b"gone"):
    fd = os.open(folder + b"/" + name, os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"12345")
    if name == b"gone": os.unlink(folder + b"/" + name)
    os.write(fd, b"678")
    os.close(fd)
"""
    recording = record(python(code, tmp_path), tmp_path / "a.iowhy")
    paths = [
        path
        for (path,) in ask(
            recording,
            "SELECT f.path FROM files f WHERE (f.dev, f.ino) IN"
            " (SELECT (dev, ino) FROM syscalls WHERE name = 'write' AND bytes = 5)",
        )
    ]
    base = re.escape(str(tmp_path))
    for wanted in (r"with space", r"caf\\xe9", r"new(\n|\\x0a)line", r"gone( \(deleted\))?"):
        assert any(re.fullmatch(f"{base}/{wanted}", str(path)) for path in paths), (wanted, paths)


FAULTS = """
import mmap, resource, sys, time
end = time.monotonic() + 3
while time.monotonic() < end:
    memory = mmap.mmap(-1, 64 << 20)
    memory.write(bytes(64 << 20))
    memory.close()
used = resource.getrusage(resource.RUSAGE_SELF)
open(sys.argv[1], "w").write(f"{used.ru_utime} {used.ru_stime}")
"""
SPIN = """
import os, resource, sys, time
end = time.monotonic() + 3
fd = os.open("/dev/null", os.O_WRONLY)
while time.monotonic() < end:
    for _ in range(100): os.write(fd, b"x")
used = resource.getrusage(resource.RUSAGE_SELF)
open(sys.argv[1], "w").write(f"{used.ru_utime} {used.ru_stime}")
"""


@pytest.mark.alone
@pytest.mark.parametrize("code", [FAULTS, SPIN], ids=["faults", "calls"])
def test_user_and_kernel_time_are_those_of_getrusage(tmp_path: Path, code: str) -> None:
    """Within 1 % of the run; page faults are no user time."""
    recording = record(python(code, tmp_path / "used"), tmp_path / "a.iowhy")
    user, kernel = map(float, (tmp_path / "used").read_text().split())
    ours_user, ours_kernel, seconds, calls = ask(
        recording,
        "SELECT sum(cpu_user_ns)/1e9, sum(cpu_kernel_ns)/1e9, sum(interval_ns)/1e9, sum(cpu_calls_ns)/1e9"
        " FROM thread_time",
    )[0]
    assert ours_user == pytest.approx(user, abs=0.01 * seconds)
    assert ours_kernel == pytest.approx(kernel, abs=0.01 * seconds)
    if code == FAULTS:
        assert calls < 0.6 * ours_kernel


PIPELINE = """
import fcntl, os, time
def spin(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end: pass
(a, b), (c, d) = os.pipe(), os.pipe()
for end in (b, d): fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)
feeder = os.fork()
if not feeder:
    for end in (a, c, d): os.close(end)
    for _ in range(200): spin(0.3); os.write(b, bytes(4096))
    os._exit(0)
worker = os.fork()
if not worker:
    for end in (b, c): os.close(end)
    for _ in range(200): os.read(a, 4096); spin(5); os.write(d, bytes(4096))
    os._exit(0)
for end in (a, b, d): os.close(end)
for _ in range(200): os.read(c, 4096); spin(0.3)
"""


@pytest.mark.alone
def test_a_pipeline_waits_for_its_slowest(tmp_path: Path) -> None:
    """The first and last sleep most of the time for the second; it sleeps for nobody."""
    recording = record(python(PIPELINE), tmp_path / "a.iowhy")
    # (process, lifetime, slept for others, others slept for it, on a CPU)
    rows = ask(
        recording,
        "SELECT tgid, sum(interval_ns)/1e9, sum(waits_ns)/1e9, sum(waited_ns)/1e9,"
        " sum(cpu_user_ns + cpu_kernel_ns + runnable_ns)/1e9 FROM thread_time GROUP BY tgid ORDER BY tgid",
    )
    last, first, worker = rows[0], rows[-2], rows[-1]
    for _, lifetime, waits, waited, active in (first, last):
        assert waits > 0.8 * (lifetime - active) > 0
        assert waited < 0.2 * lifetime
    _, lifetime, waits, waited, active = worker
    assert waited > 0.7 * active and active > 1
    assert waits < 0.2 * lifetime


def test_sleep_until_a_timer_or_the_network_waits_for_no_thread(tmp_path: Path) -> None:
    """A worker that wakes up by itself, and one that gets its request from it: that one waits for the request."""
    code = """
import queue, threading, time
todo = queue.Queue()
def work():
    while todo.get() is not None: pass
worker = threading.Thread(target=work)
worker.start()
for _ in range(20):
    time.sleep(0.05)
    todo.put(1)
todo.put(None)
worker.join()
"""
    recording = record(python(code), tmp_path / "a.iowhy")
    slept, waits = ask(
        recording, "SELECT sum(sleeping_ns)/1e9, sum(waits_ns)/1e9 FROM thread_time"
    )[0]
    assert slept > 1.5
    assert waits < 0.1 * slept


def test_the_cpus_that_threads_may_run_on(tmp_path: Path) -> None:
    """One thread binds itself to the last CPU and ends, one is bound and lives on at the end, and one may run on all."""
    code = """
import os, sys, threading, time
every = sorted(os.sched_getaffinity(0))
def bound(seconds):
    os.sched_setaffinity(0, every[-1:])
    time.sleep(seconds)
ends, lives = threading.Thread(target=bound, args=[0.3]), threading.Thread(target=bound, args=[60], daemon=True)
ends.start()
lives.start()
ends.join()
time.sleep(0.3)
with open(sys.argv[1], "w") as file:
    print(ends.native_id, lives.native_id, os.getpid(), file=file)
os._exit(0)
"""
    recording = record(python(code, tmp_path / "ids"), tmp_path / "a.iowhy")
    every = sorted(os.sched_getaffinity(0))
    ends, lives, main = map(int, (tmp_path / "ids").read_text().split())
    found = {
        tid: (cpus, mask)
        for tid, cpus, mask in ask(recording, "SELECT tid, allowed_cpus, allowed_mask FROM threads")
    }
    assert found[ends] == found[lives] == (1, 1 << every[-1])
    # CPUs that are not there yet, but could be, are among those of a thread that was never bound.
    cpus, mask = found[main]
    assert cpus >= len(every) and all(mask >> cpu & 1 for cpu in every)
