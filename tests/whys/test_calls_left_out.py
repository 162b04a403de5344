"""Settings that leave out calls on names: of the time that is claimed of such calls, they end that in these."""

import pytest

from .conftest import Judge, finding
from .made import FS, KIB, MS, Story


def _log(left_out: float, *, loose: bool = True) -> Story:
    """git waits for names, in so much of the time to open one; it has a loose object, or none."""
    story = Story(4.0, argv=("git", "log")).caller(
        "openat", 800, blocked=4 * MS, bytes_=None, reason="metadata_read"
    )
    for number, row in enumerate(story.tables["syscalls"]):
        if number >= 800 * left_out:
            row["name"] = story.tables["waits"][number]["syscall"] = "mkdir"
    story.requests(800, service=MS, kind="metadata", ino=None, jump=True)
    story.add("files", dev=FS, ino=900, path="/usr/bin/git", kind="file")
    path = "/r/.git/objects/0a/b1" if loose else "/r/.git/objects/pack/a.pack"
    story.add("files", dev=FS, ino=901, path=path, kind="file", size_bytes=KIB)
    story.tables["threads"][0]["comm"] = "git"
    return story


@pytest.mark.parametrize(("left_out", "part"), [(1.0, 1.0), (0.75, 0.75), (0.0, None)])
def test_calls_that_a_setting_leaves_out_gain_their_share(
    judged: Judge, left_out: float, part: float | None
) -> None:
    found = finding(judged(_log(left_out)), "metadata-cold")
    assert found is not None
    packed = {one.do.id: one.gain for one in found.fixes}.get("git.pack")
    assert packed == (None if part is None else pytest.approx(part * found.share, rel=0.02))


def test_what_is_packed_already_is_not_packed(judged: Judge) -> None:
    found = finding(judged(_log(1.0, loose=False)), "metadata-cold")
    assert found is not None and "git.pack" not in [one.do.id for one in found.fixes]
