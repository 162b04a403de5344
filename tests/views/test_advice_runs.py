"""The commands about a recording that a verdict's page prints are run, as they stand there."""

import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import invoke
from tests.whys.made import KIB, MS, Story

# On one line in a wide terminal; a sentence's stand between backticks.
_PRINTED = re.compile(r"iowhy (?:report|why|html|sql|check|compare) [^`\n]*?\S+\.iowhy")


def syncing() -> Story:
    story = Story(4.0).caller("fsync", 400, blocked=9 * MS, bytes_=None, gap_share=0.0)
    return story.requests(400, op="write", bytes_=4 * KIB, jump=True).flushes(400, 4 * MS)


def reading() -> Story:
    """More findings than are shown: the page says how to see all."""
    story = Story(4.0).thread(tid=20, user=0.3).caller("pread64", 400, blocked=8 * MS, jump=True)
    story.cache(lookups=800, misses=800)
    return story.requests(400, bytes_=4 * KIB, service=2 * MS, jump=True)


def idle() -> Story:
    return Story(3.0).thread(10).idle_call("epoll_wait")


@pytest.mark.parametrize("story", [syncing(), reading(), idle()], ids=["syncs", "reads", "idle"])
def test_commands_of_a_page_run(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    story.write(Path("made.iowhy"))
    page = invoke(["why", "made.iowhy", "--all"], env={"COLUMNS": "1000", "NO_COLOR": "1"})
    assert page.exception is None and page.exit_code == 0
    printed = set(_PRINTED.findall(page.output))
    assert {"iowhy report files made.iowhy"} < printed, page.output
    for command in sorted(printed):
        done = invoke(shlex.split(command)[1:])
        assert done.exception is None and done.exit_code == 0, (command, done.output)
        assert done.output.strip(), command
