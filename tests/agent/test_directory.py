"""The agent goes by paths below its directory, with its own rights: nobody else may write there."""

import os
import time
from pathlib import Path

import pytest

from iowhy.agent.service import LOCK, locked, running, stopped
from iowhy.agent.settings import Settings
from tests.problems import wrong


def test_a_directory_that_is_missing_is_made_and_kept_from_others(tmp_path: Path) -> None:
    folder, before = tmp_path / "a" / "b", os.umask(0o002)
    try:
        for _ in range(2):
            with locked(folder):
                assert running(folder) == os.getpid()
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o022 == 0


@pytest.mark.parametrize(
    ("mode", "taken"), [(0o700, True), (0o755, True), (0o775, False), (0o777, False)]
)
def test_where_others_may_write_no_agent_works(tmp_path: Path, mode: int, taken: bool) -> None:
    tmp_path.chmod(mode)
    if taken:
        with locked(tmp_path):
            return
    with wrong("folder-not-private"), locked(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


def test_nor_in_another_users_directory(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(tmp_path, 65534, 65534)
    with wrong("folder-not-private"), locked(tmp_path):
        pass
    (tmp_path.parent / "link").symlink_to(tmp_path)
    with wrong("folder-not-private"), locked(tmp_path.parent / "link"):
        pass


def test_an_agent_that_counts_no_more_is_not_alive(tmp_path: Path) -> None:
    asked = Settings(directory=tmp_path)
    with wrong("no-agent-works-here"):
        stopped(asked)
    with locked(tmp_path):
        assert stopped(asked) is None
        an_hour_ago = time.time() - 3600
        os.utime(tmp_path / LOCK, (an_hour_ago, an_hour_ago))
        assert (stopped(asked) or 0) > 3000
