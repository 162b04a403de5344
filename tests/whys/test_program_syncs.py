"""Who decides on syncs: somebody else's program, one's own, a setting for calls or for writes that sync themselves."""

import pytest

from .conftest import Judge, fixes_of, leads
from .made import KIB, MS, Story


def _decides_itself(path: str, inodes: int = 1) -> Story:
    """A program that syncs of its own accord, through LMDB."""
    story = Story(4.0).file(201, path).file(301, "/srv/data.mdb").file(302, "/srv/lock.mdb")
    story.caller(
        "fdatasync", 200, blocked=15 * MS, reason="device_flush", bytes_=None,
        ino=[301 + 2 * number for number in range(inodes)],
    )  # fmt: skip
    story.requests(200, op="write", bytes_=4 * KIB).flushes(200, 12 * MS)
    story.argv = (path, "-l", "x.ldif")
    for thread in story.tables["threads"]:
        thread["comm"] = path.rpartition("/")[2]
    return story


def test_syncs_that_somebody_elses_program_decides_on_are_left_out_as_a_whole(
    judged: Judge,
) -> None:
    first = judged(_decides_itself("/usr/sbin/slapadd")).findings[0]
    assert "`eatmydata /usr/sbin/slapadd -l x.ldif`" in first.remedies[0]
    assert first.gain == pytest.approx(first.share)
    assert not any("LMDB" in one or "transaction" in one for one in first.remedies)
    # Started by a script, it decides all the same; code that an interpreter runs is one's own.
    script = _decides_itself("/usr/sbin/slapadd")
    script.argv = ("sh", "load.sh")
    assert "eatmydata" in judged(script).findings[0].remedies[0]
    for own in ("/usr/bin/python3.11", "/home/me/load"):
        remedies = judged(_decides_itself(own)).findings[0].remedies
        assert "LMDB" in remedies[0] and not any("eatmydata" in one for one in remedies)


def test_a_process_that_renames_itself_is_still_its_program(judged: Judge) -> None:
    story = _decides_itself("/usr/bin/stress-ng")
    for thread in story.tables["threads"]:
        thread["comm"] = "stress-ng-hdd"
    assert "eatmydata" in judged(story).findings[0].remedies[0]


@pytest.mark.parametrize(("comm", "changes"), [("file", False), ("python3", True)])
def test_who_pipes_to_somebody_elses_program_does_not_change_its_order(
    comm: str, changes: bool, judged: Judge
) -> None:
    story = Story(4.0).file(201, f"/usr/bin/{comm}")
    story.caller("pread64", 400, blocked=9 * MS, jump=True).requests(400, service=9 * MS, jump=True)
    story.argv = ("sh", "-c", f"find /data | {comm} -")
    for thread in story.tables["threads"]:
        thread["comm"] = comm
    found = leads(judged(story), "random-access", 0.8)
    assert ("random-access.in-order" in fixes_of(found)) is changes


def test_a_script_decides_on_the_syncs_of_what_it_starts_for_each(judged: Judge) -> None:
    story = _decides_itself("/usr/bin/sync")
    for number, call in enumerate(story.tables["syscalls"]):
        call["tid"] = call["tgid"] = 1000 + number
    for number in range(200):
        story.tables["threads"].append(
            {**story.tables["threads"][0], "tid": 1000 + number, "tgid": 1000 + number}
        )
    assert not any("eatmydata" in one for one in judged(story).findings[0].remedies)


@pytest.mark.parametrize(("durable", "told"), [(True, "`sync=`"), (False, "`fsync=`")])
def test_a_setting_for_sync_calls_is_not_one_for_writes_that_sync_themselves(
    durable: bool, told: str, judged: Judge
) -> None:
    story = Story(4.0).file(201, "/usr/bin/fio")
    story.caller(
        "pwrite64" if durable else "fsync", 200, blocked=15 * MS, reason="device_flush",
        bytes_=4 * KIB if durable else None,
    )  # fmt: skip
    for call in story.tables["syscalls"]:
        call["durable"] = durable or None
    story.requests(200, op="write", bytes_=4 * KIB).flushes(200, 12 * MS)
    for thread in story.tables["threads"]:
        thread["comm"] = "fio"
    of_fio = [one for one in judged(story).findings[0].remedies if one.startswith("fio: ")]
    assert len(of_fio) == 1 and told in of_fio[0]
