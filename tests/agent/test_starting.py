"""`agent check` tries what `agent run` does: what the one takes the other does not refuse."""

import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from iowhy.agent import settings, shipped, starting
from iowhy.agent.service import Service
from iowhy.agent.settings import Settings
from iowhy.cli import agent as command
from iowhy.errors import Problem
from tests.agent.made import interval
from tests.problems import wrong


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[Service]:
    """Who would begin to count: no programs are loaded."""
    begun: list[Service] = []
    monkeypatch.setattr(starting, "_begin_to_count", begun.append)
    monkeypatch.setattr(Service, "run", lambda service: begun.append(service))
    return begun


def _folder_of_all(tmp_path: Path) -> Settings:
    tmp_path.chmod(0o777)
    return Settings(directory=tmp_path)


def _no_folder(tmp_path: Path) -> Settings:
    (tmp_path / "file").touch()
    return Settings(directory=tmp_path / "file" / "agent")


def _no_such_host(tmp_path: Path) -> Settings:
    return Settings(directory=tmp_path, metrics=("256.0.0.1", 9469))


@pytest.mark.parametrize("refused", [_folder_of_all, _no_folder, _no_such_host])
def test_what_run_refuses_check_refuses_with_the_same_words(
    tmp_path: Path, refused: Callable[[Path], Settings], counts: list[Service]
) -> None:
    asked = refused(tmp_path)
    with pytest.raises(Problem) as of_run, starting.prepared(asked):
        pass
    with pytest.raises(Problem) as of_check:
        starting.check(asked)
    assert str(of_run.value) == str(of_check.value) and counts == []


def test_an_address_that_is_taken(tmp_path: Path, counts: list[Service]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        asked = Settings(directory=tmp_path, metrics=taken.getsockname())
        with wrong("metrics-address-unusable", port=taken.getsockname()[1]):
            starting.check(asked)
    assert counts == []


def test_a_check_leaves_nothing_and_does_not_disturb_the_agent_at_work(
    tmp_path: Path, counts: list[Service]
) -> None:
    asked = Settings(directory=tmp_path / "lib" / "agent", black_box_ns=10**10)
    assert starting.check(asked) is None and len(counts) == 1
    assert not [*tmp_path.iterdir()]
    with starting.prepared(asked) as service:
        assert starting.check(asked) == os.getpid()
        box = service.captures.box
        assert box is not None and box.folder.exists()
        box.end()


def test_without_a_file_the_defaults_are_taken_and_the_units_file_where_there_is_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    counts: list[Service],
) -> None:
    monkeypatch.setattr(settings, "Settings", partial(Settings, directory=tmp_path / "lib"))
    monkeypatch.setattr(command, "FILE", tmp_path / "agent.toml")
    assert "-c" not in shipped.text("unit").partition("ExecStart=")[2].splitlines()[0].split()
    command.check(command.Check())
    text = shipped.text("config").replace('"/var/lib/iowhy"', f'"{tmp_path / "own"}"')
    (tmp_path / "agent.toml").write_text(text)
    command.run(command.Run())
    command.check(command.Check())
    assert [one.settings.directory for one in counts[1:]] == [tmp_path / "own"] * 2
    assert len(counts[-1].settings.triggers) == 9


def test_the_file_to_begin_with_is_the_pages() -> None:
    page = Path(__file__).parents[2] / "docs/agent.md"
    assert f"```toml\n{shipped.text('config')}```\n" in page.read_text("utf-8")


def test_what_is_so_in_each_interval_is_said_once_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where intervals between are whole, and of a recording that can never be moved."""
    service = Service(Settings(directory=tmp_path))
    for lost in (3, 0, 5, 2):
        service._interval(interval(lost=lost, closed=[str(tmp_path / "gone.iowhy")]))
    said = capsys.readouterr().out.splitlines()
    assert len([line for line in said if "not counted" in line]) == 1
    assert len([line for line in said if "stays there" in line]) == 1
    assert service.totals.lost == 10
