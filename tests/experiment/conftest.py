"""What tests of levers and of groups share: a journal of their own, and surroundings without a machine."""

import pytest

from iowhy.experiments.setting import Profile, Setting
from iowhy.undo import Undo


@pytest.fixture
def undo(tmp_path, monkeypatch):
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    with Undo.session("test") as opened:
        yield opened


@pytest.fixture
def setting(tmp_path, undo):
    work = tmp_path / "work"
    work.mkdir()
    return Setting(["true"], work, undo, Profile(1.0, 0.5))
