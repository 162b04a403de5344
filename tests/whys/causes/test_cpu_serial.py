"""cpu-serial: one CPU's worth of work, with others idle."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads, links_of, sentence
from ..made import FS, KIB, MS, START, Story


def test_one_thread_computes(judged: Judge) -> None:
    leads(judged(Story().thread(user=0.95)), "cpu-serial", 0.94, 0.96)


def computing(name: str, bytes_each: int) -> Story:
    """One thread of a program that is known, at work: its own time, and calls of so many bytes."""
    story = Story(2.0, argv=(name, "file")).caller(
        "read", 200, cpu=2 * MS, bytes_=bytes_each, gap="user"
    )
    for ino, path in enumerate((f"/usr/bin/{name}", "/srv/file"), 100):
        story.add("files", dev=FS, ino=ino, path=path, kind="file")
    for thread in story.tables["threads"]:
        thread["comm"] = name
    return story


def test_a_program_is_told_its_own_way_with_what_that_gains(judged: Judge) -> None:
    """dd asks for more at once: it does less, on one CPU. What copies as it is told does not run in parallel."""
    found = finding(judged(computing("dd", 1)), "cpu-serial")
    assert found is not None
    assert found.remedies[0].startswith("dd: ") and "`bs=1M`" in found.remedies[0]
    assert found.gain_condition == "with half of the work"
    assert not any("xargs" in remedy for remedy in found.remedies)


def test_an_option_that_divides_the_work_takes_the_other_cpus(judged: Judge) -> None:
    found = finding(judged(computing("xz", 64 * KIB)), "cpu-serial")
    assert found is not None
    assert found.remedies[0].startswith("xz: ") and "`xz -T0`" in found.remedies[0]
    assert found.gain_condition.startswith("on all ")
    # Not make -j beside it.
    assert not any("xargs" in remedy for remedy in found.remedies)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-12",), True),
        (("-12", "-T1"), True),
        (("--threads=1",), True),
        (("-T0",), False),
        (("-12T0",), False),
        (("--threads=0",), False),
        (("--single-thread",), False),
    ],
)
def test_one_worker_that_was_asked_for_can_be_more(
    judged: Judge, words: tuple[str, ...], told: bool
) -> None:
    """zstd -T1 is one worker, as it is without; -T0 takes as many as there are CPUs."""
    story = computing("zstd", 64 * KIB)
    story.argv = ("zstd", *words, "file")
    verdict = judged(story)
    found = finding(verdict, "cpu-serial")
    assert found is not None and ("`zstd -T0`" in found.remedies[0]) is told
    # The name of a program is written as it is.
    assert ("zstd: Compress" in verdict.answer) is told


def test_more_processes_are_not_offered_where_others_keep_the_cpus_busy(judged: Judge) -> None:
    for name in ("cp", "./mine"):
        found = finding(judged(computing(name, 64 * KIB).machine(busy=0.99)), "cpu-serial")
        assert found is not None and found.behind is None
        assert not any("xargs" in remedy for remedy in found.remedies)


def test_of_a_program_of_ones_own_each_remedy_has_its_own_gain(judged: Judge) -> None:
    """The near miss: nothing says that its work cannot be divided."""
    found = finding(judged(computing("./mine", 1)), "cpu-serial")
    assert found is not None
    assert fixes_of(found)[0] == "cpu-serial.one-per-cpu"
    assert sentence(found.fixes[0].do).values["cpus"] == 4
    assert found.gain_condition.startswith("on all ")
    half = next(one.gain for one in found.fixes if one.do.id == "cpu-serial.faster-core")
    assert half == pytest.approx(found.share / 2)


def test_a_long_fdatasync_that_computes_is_told_from_a_slow_device(judged: Judge) -> None:
    story = Story(2.0).caller(
        "fdatasync", 400, cpu=4 * MS, blocked=100_000, bytes_=None, reason="journal_commit"
    )
    found = leads(judged(story), "cpu-serial", 0.9)
    assert "syncs-look-long" in links_of(found)
    assert tells(chain(found), "98 %")
    assert fixes_of(found)[0] == "shared.call-once"


def test_a_call_that_is_named_has_its_own_number(judged: Judge) -> None:
    """Of 500 syncs 300 are of another call, which take less."""
    story = Story(2.0).caller("fdatasync", 200, cpu=8 * MS, bytes_=None, reason="journal_commit")
    story.caller("fsync", 300, tid=11, cpu=1 * MS, bytes_=None, gap="sleep")
    found = leads(judged(story), "cpu-serial", 0.5)
    looks = sentence(links_of(found)["syncs-look-long"]).values
    assert (looks["calls"], looks["of_call"], looks["call"]) == (500, 200, "fdatasync")


def test_not_when_the_fdatasync_really_waits(judged: Judge) -> None:
    story = Story(2.0).caller(
        "fdatasync", 400, cpu=50_000, blocked=4 * MS, bytes_=None, reason="journal_commit",
        gap="idle",
    )  # fmt: skip
    absent(judged(story), "cpu-serial")


def test_more_workers_are_no_remedy_where_memory_is_short(judged: Judge) -> None:
    story = Story(2.0).caller(
        "read", 100, blocked=5 * MS, reason="memory_reclaim", io=False, bytes_=None
    )
    found = finding(judged(story), "cpu-serial")
    assert found is not None and not any("xargs" in remedy for remedy in found.remedies)


def test_not_when_every_cpu_works(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(10, user=0.97).thread(11, user=0.97)
    absent(judged(story), "cpu-serial")


def test_no_more_cpus_to_use_where_others_take_them(judged: Judge) -> None:
    found = finding(judged(Story(cpus=2).thread(user=0.5).machine(busy=0.99)), "cpu-serial")
    assert found is None or any("other processes" in text for text in found.lowered_by)


def test_idle_parents_do_not_dilute_it(judged: Judge) -> None:
    story = Story(2.0).thread(10, user=0.9)
    for parent in range(20, 28):
        story.thread(parent, parent)
    leads(judged(story), "cpu-serial", 0.89, 0.91)


def test_behind_the_shortage_where_no_cpu_is_left(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(user=0.67, runnable=0.33).machine(busy=1.0)
    verdict = judged(story)
    assert [f.cause for f in verdict.findings] == ["cpu-saturated", "cpu-serial"]
    assert "faster single" in verdict.findings[1].remedies[0]


def test_not_the_little_cpu_time_of_work_that_waits(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 180, blocked=9 * MS, jump=True, gap_share=0.5)
    story.requests(180, service=9 * MS, jump=True)
    absent(judged(story), "cpu-serial")


def bound(to: tuple[int, ...], cpus: int, name: str = "./mine") -> Story:
    """One thread computes, and may run on these CPUs only."""
    story = computing(name, 64 * KIB)
    story.cpus = cpus
    story.machine()
    for thread in story.tables["threads"]:
        thread["allowed_cpus"], thread["allowed_mask"] = len(to), sum(1 << cpu for cpu in to)
    return story


def test_more_threads_are_no_remedy_before_they_may_run_elsewhere(judged: Judge) -> None:
    verdict = judged(bound((0,), 4))
    found = leads(verdict, "cpu-serial", 0.9)
    assert tells(chain(found), "1 CPU", "4")
    assert "`taskset -c 0-3 " in verdict.answer
    assert sentence(found.summary).id == "cpu-serial.one"
    assert "`taskset -c 0-3 " in found.remedies[0] and "xargs" not in str(found.remedies)
    assert found.gain == pytest.approx(0.75, abs=0.02) and "on all 4 CPUs" in found.gain_condition
    # A program's own way takes more CPUs too; one that leaves work out does not.
    verdict = judged(bound((0,), 4, "xz"))
    xz = finding(verdict, "cpu-serial")
    assert xz is not None and "taskset -c 0-3" in xz.remedies[0]
    assert "then" in xz.remedies[0] and "`xz -T0`" in xz.remedies[0]
    dd = finding(judged(bound((0,), 4, "dd")), "cpu-serial")
    assert dd is not None and "taskset" not in dd.remedies[0]


def test_bound_to_some_of_which_it_uses_one_it_can_use_these_first(judged: Judge) -> None:
    found = leads(judged(bound((0, 1), 4)), "cpu-serial", 0.9)
    assert found.fixes[0].do.id == "cpu-serial.one-per-cpu"
    assert tells(chain(found), "2 CPUs", "4")
    assert found.gain == pytest.approx(0.5, abs=0.02)
    assert found.gain_condition.startswith("on the 2 CPUs that its threads may run on")


def test_not_where_it_is_bound_to_all_of_them(judged: Judge) -> None:
    found = leads(judged(bound((0, 1), 2)), "cpu-serial", 0.9)
    assert found.fixes[0].do.id == "cpu-serial.one-per-cpu"
    assert "bound-to" not in links_of(found) and "on all 2 CPUs" in found.gain_condition


def starts(starter: str, processes: int, ns: int) -> Story:
    """One process starts others, one after the other, which compute so long each."""
    story = Story(2.0).thread(10, 10, user=0.05)
    story.tables["threads"][0]["comm"] = starter
    step = story.elapsed // processes
    for number in range(processes):
        at, tid = START + number * step, 100 + number
        story.add(
            "thread_time", ts_ns=at, interval_ns=step, tgid=tid, tid=tid, cpu_user_ns=ns // 2,
            cpu_kernel_ns=ns - ns // 2, runnable_ns=0, blocked_ns=0, sleeping_ns=step - ns,
        )  # fmt: skip
        story.add(
            "threads",
            tid=tid,
            tgid=tid,
            ppid=10,
            comm="grep",
            start_ns=at + 1,
            end_ns=at + step,
            exit_code=0,
        )
    return story


@pytest.mark.parametrize("starter", ["find", "bash", "make"])
def test_many_processes_that_do_little_are_what_it_does(judged: Judge, starter: str) -> None:
    found = leads(judged(starts(starter, 1000, 1_600_000)), "cpu-serial", 0.75)
    assert found.who == starter and found.summary.id == "cpu-serial.starts"
    assert found.fixes[0].do.id == "shared.fewer-starts"
    assert found.gain > 0.7


def test_a_setting_that_runs_them_at_once_saves_what_the_other_cpus_do(judged: Judge) -> None:
    """make -j starts as many."""
    story = starts("make", 1000, 1_600_000)
    story.executables[10], story.argv = "/usr/bin/make", ("make",)
    found = leads(judged(story), "cpu-serial", 0.75)
    by_id = {one.do.id: one for one in found.fixes}
    at_once, once = by_id["program.make.parallel"], by_id["shared.fewer-starts"]
    assert at_once.condition.startswith("on all ") and at_once.gain < once.gain


def test_a_setting_that_runs_them_at_once_saves_what_the_other_cpus_do(judged: Judge) -> None:
    """make -j starts as many."""
    story = starts("make", 1000, 1_600_000)
    story.executables[10], story.argv = "/usr/bin/make", ("make",)
    found = leads(judged(story), "cpu-serial", 0.75)
    by_id = {one.do.id: one for one in found.fixes}
    at_once, once = by_id["program.make.parallel"], by_id["shared.fewer-starts"]
    assert at_once.condition.startswith("on all ") and at_once.gain < once.gain


def test_not_a_server_with_a_process_for_each_client(judged: Judge) -> None:
    found = finding(judged(starts("grep", 1000, 1_600_000)), "cpu-serial")
    assert found is not None and found.fixes[0].do.id != "shared.fewer-starts"


@pytest.mark.parametrize(("processes", "ns"), [(20, 9_000_000), (100, 15_000_000)])
def test_not_few_or_long_ones(judged: Judge, processes: int, ns: int) -> None:
    """A build: its compilers are many and take their time; and a script of some commands."""
    found = finding(judged(starts("make", processes, ns)), "cpu-serial")
    assert found is None or found.fixes[0].do.id != "shared.fewer-starts"


def of_a_file_each(
    processes: int, begun: float, own: bool = True, written: float | None = None
) -> Story:
    """Processes of 50 ms that open the same module, the last time at that part of their lives, then each its own file.

    `written`: when each writes last.
    """
    story = starts("bash", processes, 50 * MS)
    story.file(50, "/usr/share/module", KIB)
    step = story.elapsed // processes
    for number in range(processes):
        ino = 100 + number if own else 60
        story.file(ino, f"/data/{ino}", KIB)
        at = START + number * step
        calls = [("openat", 50, begun), ("openat", ino, begun + 0.05)]
        calls += [] if written is None else [("write", ino, written)]
        for call, name, when in calls:
            story.add(
                "syscalls", ts_ns=at + round(when * step), dur_ns=1000, cpu_ns=1000, runnable_ns=0, blocked_ns=0, sleeping_ns=0,
                tgid=100 + number, tid=100 + number, name=call, dev=FS, ino=name, ret=3,
            )  # fmt: skip
    return story


def test_an_interpreter_that_begins_anew_for_each_file(judged: Judge) -> None:
    """Of a program of a tenth of a second, most is reading its modules: one process for all files saves that."""
    found = leads(judged(of_a_file_each(25, 0.9)), "cpu-serial", 0.5)
    assert found.fixes[0].do.id == "shared.fewer-starts"
    assert found.summary.values["starting"] == pytest.approx(0.9, abs=0.02)
    assert found.gain / found.share == pytest.approx(0.8, abs=0.05)


def test_what_a_process_does_after_its_last_write_is_its_end(judged: Judge) -> None:
    found = leads(judged(of_a_file_each(25, 0.4, written=0.7)), "cpu-serial", 0.5)
    assert found.fixes[0].do.id == "shared.fewer-starts"
    assert found.summary.values["starting"] == pytest.approx(0.7, abs=0.02)
    # It reads for longer than that, and may have worked until then.
    late = leads(judged(of_a_file_each(25, 0.4, written=0.95)), "cpu-serial", 0.5)
    assert late.fixes[0].do.id != "shared.fewer-starts"


@pytest.mark.parametrize(
    ("processes", "begun", "own"), [(25, 0.3, True), (5, 0.9, True), (25, 0.9, False)]
)
def test_not_where_each_works_at_its_own_file_or_has_none(
    judged: Judge, processes: int, begun: float, own: bool
) -> None:
    found = finding(judged(of_a_file_each(processes, begun, own)), "cpu-serial")
    assert found is None or found.fixes[0].do.id != "shared.fewer-starts"


@pytest.mark.parametrize(
    ("path", "threads", "first"),
    [
        ("/usr/bin/zpaq", 1, "shared.threads-by-option"),
        ("/home/me/zpaq", 1, "cpu-serial.one-per-cpu"),  # its author divides its work
        ("/usr/bin/zpaq", 3, "cpu-serial.one-per-cpu"),  # it has threads
    ],
)
def test_somebody_elses_program_may_have_an_option_for_threads(
    judged: Judge, path: str, threads: int, first: str
) -> None:
    story = Story(2.0, argv=(path, "a"))
    for number in range(threads):
        story.thread(10 + number, user=0.95)
    fixes = fixes_of(leads(judged(story), "cpu-serial", 0.5))
    assert fixes[0] == first
    assert ("shared.threads-by-option" in fixes) is (first == "shared.threads-by-option")


def test_one_thread_that_is_bound_waits_for_its_cpu_not_for_others(judged: Judge) -> None:
    """Half of the time somebody else has that CPU: on its own, it computes as long as before."""
    story = Story(4.0, argv=("taskset", "-c", "1", "optipng", "a.png"))
    story.cpus = 2
    verdict = judged(story.thread(user=0.5, runnable=0.5, on=(1,)).machine(busy=0.5))
    found = finding(verdict, "cpu-serial")
    assert found is not None and found.gain == pytest.approx(found.share / 2, abs=0.02)
    assert not any("taskset" in one for one in found.remedies)
    assert leads(verdict, "cpu-delayed", 0.4).gain == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("program", "read", "written", "less"),
    [
        ("brotli", 64, 16, True),
        ("brotli -1", 64, 16, False),
        ("brotli", 16, 64, False),
        ("render", 64, 16, False),
    ],
)
def test_who_typed_what_compresses_in_one_thread_may_do_so_less(
    judged: Judge, program: str, read: int, written: int, less: bool
) -> None:
    """Its code has no library of a known name; what takes apart writes more than it reads."""
    name, *words = program.split()
    story = Story(2.0, argv=(f"/usr/bin/{name}", *words, "x")).thread(10, user=0.9)
    parts = {"cpu_ns": MS // 9, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    for at, (call, size) in enumerate((("read", read), ("write", written))):
        for number in range(50):
            began = START + (2 * number + at) * 9 * MS
            story.call(began, call, parts, tid=10, ino=900, offset=0, bytes_=size * KIB)
    story.tables["threads"][-1].update(comm=name)
    found = leads(judged(story.machine(busy=0.25)), "cpu-serial", 0.85)
    assert (found.fixes[0].do.id == "shared.compress-less") is less
    assert (found.gain > 0.8) is less
