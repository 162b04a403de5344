"""cpu-saturated: no CPU left for threads that are ready."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, leads, links_of, sentence
from ..made import FS, MS, START, Story


def test_as_many_threads_as_cpus(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(10, user=0.97).thread(11, kernel=0.97)
    leads(judged(story), "cpu-saturated", 0.95)


@pytest.mark.parametrize(("second", "named"), [(11, True), (10, False)])
def test_of_several_processes_those_that_use_the_cpus_are_named(
    second: int, named: bool, judged: Judge
) -> None:
    story = Story(2.0, cpus=2).thread(10, user=0.97).thread(11, tgid=second, user=0.97)
    found = leads(
        judged(story.thread(12, tgid=12, user=0.001) if named else story), "cpu-saturated", 0.95
    )
    said = [link for link in found.chain if sentence(link.statement).id == "cpu-saturated.cores"]
    assert len(said) == named
    if named:
        assert tells(said[0].statement, "worker10", "1", "0.97", "worker11", "1", "0.97")
        assert said[0].report == "processes"


def test_others_that_leave_a_fifth_of_the_cpus(judged: Judge) -> None:
    """Too little to run on: threads that want more than one CPU wait for them."""
    story = Story(2.0, cpus=4)
    for tid in range(10, 13):
        story.thread(tid, user=0.33, runnable=0.66)
    leads(judged(story.machine(busy=0.8)), "cpu-saturated", 0.95)


def test_who_uses_the_cpus_is_summed_by_container(judged: Judge) -> None:
    """Three of one container against one that alone uses more than each of them."""
    story = (
        Story(2.0, cpus=2).machine(busy=1.0).add("containers", id="c1", name="noisy", cgroup="/a")
    )
    for tgid, part in ((10, 0.8), (11, 0.4), (12, 0.4), (13, 0.4)):
        story.thread(tgid, user=part, tgid=tgid)
    for row in story.tables["threads"]:
        row["container"] = "" if row["tgid"] == 10 else "c1"
    found = leads(judged(story), "cpu-saturated", 0.9)
    said = "\n".join(link.statement for link in found.chain)
    assert tells(said, "noisy", "3", "1.20")


@pytest.mark.parametrize(
    ("kind", "typed"), [("fuse.gocryptfs", "run -p 88"), ("ext4", "nice -n -20")]
)
def test_who_serves_its_files_is_no_other_work(judged: Judge, kind: str, typed: str) -> None:
    """What it reads is read ahead, so that it hardly waits for these files."""
    story = Story(2.0, cpus=2).thread(10, user=0.5, runnable=0.48, blocked=0.02).machine(busy=1.0)
    story.wait(START, 40 * MS, "fuse", "read")
    story.add("filesystems", dev=FS, kind=kind, mount="/m", options="rw", daemon_tgid=88)
    assert typed in leads(judged(story), "cpu-saturated", 0.45, 0.55).fixes[0].do


def test_a_neighbour_takes_the_cpus(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(10, user=0.5, runnable=0.5).machine(busy=1.0)
    verdict = judged(story)
    found = leads(verdict, "cpu-saturated", 0.45, 0.55)
    assert tells("\n".join(link.statement for link in found.chain), "1.50")
    # Its own work would be no shorter without them.
    assert [f.cause for f in verdict.findings] == ["cpu-saturated", "cpu-serial"]


@pytest.mark.parametrize(("threads", "gain"), [(1, 0.5), (4, 0.75), (8, 0.75)])
def test_threads_that_want_more_than_all_cpus_wait_for_each_other_too(
    judged: Judge, threads: int, gain: float
) -> None:
    """Of two CPUs the command has half a one: alone it would have four times as much, were there enough to do at once."""
    story = Story(2.0, cpus=2)
    for tid in range(10, 10 + threads):
        story.thread(tid, user=0.5 / threads, runnable=1 - 0.5 / threads)
    found = leads(judged(story.machine(busy=1.0)), "cpu-saturated", 0.45)
    assert found.gain == pytest.approx(gain, abs=0.03)


@pytest.mark.parametrize(
    ("on", "bound"),
    [
        ([(0,), (0,)], 1),
        ([(70,), (70,)], 1),
        ([(0, 1), (0, 1)], 2),
        ([(0,), (1,)], 2),
        ([(), ()], None),
        ([(0, 1, 2, 3), (0, 1, 2, 3)], None),
    ],
)
def test_threads_that_are_bound_to_few_cpus_wait_for_each_other_there(
    judged: Judge, on: list[tuple[int, ...]], bound: int | None
) -> None:
    story = Story(2.0, cpus=4)
    for tid, cpus in enumerate(on, 10):
        story.thread(tid, user=0.5, runnable=0.5, on=cpus)
    found = leads(judged(story.machine(busy=1.0)), "cpu-saturated", 0.45)
    said = links_of(found)
    wanted = sentence(said["cpus-wanted"]).values
    assert (wanted["used"], wanted["wanted"]) == (pytest.approx(1.0), pytest.approx(2.0))
    assert (wanted["bound"], wanted["cpus"]) == (bound, 4)
    # Of one CPU it has all itself: others are no matter of its.
    assert ("cpu-saturated.others" in said) == (bound != 1)
    first = "all-cpus.again" if bound == 1 else "shared.priority"
    assert found.fixes[0].do.id == first


def test_it_is_let_run_before_others_however_it_was_recorded(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(10, user=0.5, runnable=0.5).machine(busy=1.0)
    assert "`nice -n -20" in leads(judged(story), "cpu-saturated", 0.45).remedies[0]
    story = Story(2.0, cpus=2, mode="attach").thread(10, user=0.5, runnable=0.5).machine(busy=1.0)
    verdict = judged(story)
    attached = leads(verdict, "cpu-saturated", 0.45)
    assert "`renice -n -20 -p 10`" in attached.remedies[0]
    assert verdict.findings[1].cause == "cpu-serial"


def test_not_one_thread_among_four_cpus(judged: Judge) -> None:
    absent(judged(Story(2.0).thread(user=0.95)), "cpu-saturated")


def test_not_two_threads_among_four_cpus(judged: Judge) -> None:
    story = Story(2.0).thread(10, user=0.95, runnable=0.02).thread(11, user=0.95)
    absent(judged(story), "cpu-saturated")


def test_the_headline_and_the_chain_name_the_same_share(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(10, user=0.4, runnable=0.5).thread(11, user=0.5, runnable=0.4)
    verdict = judged(story.machine(busy=1.0))
    found = leads(verdict, "cpu-saturated", 0.95)
    assert tells(found.chain[0].statement, "50 %", "50 %")
    assert sentence(sentence(found.summary).values["busy"]).id == "on-cpus.shared"


def test_what_others_take_is_not_proven_by_taking_more_of_the_command(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(user=0.1, runnable=0.85).machine(busy=1.0)
    found = leads(judged(story), "cpu-saturated", 0.8)
    assert found.fixes[0].do.id == "shared.priority"
    assert found.experiment is None
    alone = leads(
        judged(Story(2.0, cpus=1).thread(user=0.99).machine(busy=1.0)), "cpu-saturated", 0.9
    )
    assert alone.experiment == "cpu-quota"


def test_who_typed_nice_is_not_told_two(judged: Judge) -> None:
    """The one that is typed last would take away what the first one gives."""
    story = Story(2.0, cpus=2, argv=("nice", "-n", "19", "gifsicle", "x"))
    story.thread(10, user=0.5, runnable=0.5).machine(busy=1.0)
    found = leads(judged(story), "cpu-saturated", 0.45)
    assert found.fixes[0].do.values["typed"] == "nice -n -20 gifsicle x"
