"""iowhy lab on the command line, as far as it needs no root."""

import json
import os

import pytest
from typer.testing import CliRunner

from iowhy.cli.lab import app
from iowhy.errors import Problem
from iowhy.lab.scenario import scenarios


def invoke(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_list_names_everything() -> None:
    text = invoke("list")
    listed = json.loads(invoke("list", "--json"))
    names = [one.name for one in scenarios()]
    assert [one["name"] for one in listed["scenarios"]] == names
    assert all(name in text for name in names)
    assert set(listed["devices"]) >= {"file", "memory", "hdd"}


def test_list_of_one_tells_its_variants_devices_and_causes() -> None:
    text = invoke("list", "smallfiles")
    for said in ("batched", "one syncfs after all are written", "sync-storm", "flush-slow", "xfs"):
        assert said in text
    (one,) = json.loads(invoke("list", "smallfiles", "--json"))["scenarios"]
    assert list(one["variants"])[:2] == ["small", "large"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "nothing"], "no scenario nothing; there are imdb"),
        (["run", "nothing"], "no scenario nothing; there are imdb"),
        (["run", "imdb", "--fs", "vfat"], "--fs vfat: imdb runs on ext4"),
        (["run", "imdb", "--device", "zram"], "--device zram: imdb runs on hdd"),
        (["run", "imdb", "--variant", "good"], "--variant good: imdb has scattered"),
        (["verify", "imdb", "nothing"], "no scenario nothing"),
    ],
)
def test_wrong_words_are_named(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iowhy.lab.stage.check_rights", lambda: None)
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, Problem)
    assert said in str(done.exception)


@pytest.mark.parametrize("words", [["run", "imdb"], ["verify", "imdb"]])
def test_without_root_it_says_so_and_does_nothing(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, Problem)
    assert "the lab needs root" in str(done.exception)
