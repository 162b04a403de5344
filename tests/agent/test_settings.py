"""The agent's file: every key, and one clear line for each mistake."""

from pathlib import Path

import pytest

from iowhy.agent import settings
from iowhy.agent.conditions import Scope
from iowhy.recordings import object_store
from tests.command_line import invoke
from tests.problems import asks, wrong

WHOLE = """
[agent]
directory = "/srv/iowhy"
every = "5 s"
rotate = "30m"
keep-size = "10GiB"
keep-time = "3d"
record = "20 s"
cool-down = "2m"
per-hour = 6
calls = true
metrics = "127.0.0.1:9469"
webhook = "https://example.org/hook"
upload = "s3://bucket/some/where/"
otlp = "http://127.0.0.1:4318"
statements = true
black-box = "1m"
black-box-size = "1GiB"

[triggers]
slow-fsync = "fsync p99 > 50 ms for 10 s"
slow-read = "pread64 p99 > 5 ms"

[triggers.slow-db]
when = "fsync p99 > 5 ms"
container = "db"
device = "vda"
per-hour = 2
"""
WHEN = "when = 'fsync p99 > 5 ms'"


def written(folder: Path, text: str) -> Path:
    file = folder / "agent.toml"
    file.write_text(text)
    return file


def test_every_key_is_read(tmp_path: Path) -> None:
    found = settings.read(written(tmp_path, WHOLE))
    assert (found.directory, found.every_ns, found.rotate_ns) == (
        Path("/srv/iowhy"),
        5 * 10**9,
        1800 * 10**9,
    )
    assert (found.keep_bytes, found.keep_ns) == (10 * 2**30, 3 * 86400 * 10**9)
    assert (found.record_ns, found.cool_down_ns, found.per_hour) == (20 * 10**9, 120 * 10**9, 6)
    assert found.calls and found.metrics == ("127.0.0.1", 9469)
    assert (found.black_box_ns, found.black_box_bytes) == (60 * 10**9, 2**30)
    assert found.otlp == "http://127.0.0.1:4318" and found.statements == ""
    assert found.webhook == "https://example.org/hook"
    assert (
        found.upload is not None and object_store.written(found.upload) == "s3://bucket/some/where"
    )
    assert [*found.triggers] == ["slow-fsync", "slow-read", "slow-db"]
    limited = found.triggers["slow-db"]
    assert (limited.scope, limited.per_hour) == (Scope("db", "vda"), 2)
    assert limited.said == "fsync p99 > 5 ms of db on vda"


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert settings.read(written(tmp_path, "")) == settings.Settings()


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("[agent]\nevery = 10", 2, "every"),
        ("[agent]\n\nkeep-size = '5'", 3, "keep-size"),
        ("[agent]\nper-hour = true", 2, "per-hour"),
        ("[agent]\ncalls = 1", 2, "calls"),
        ("[agent]\ndirectory = 'here'", 2, "directory"),
        ("[agent]\nmetrics = '9469'", 2, "metrics"),
        ("[agent]\nmetrics = ':99999'", 2, "metrics"),
        ("[agent]\nwebhook = 'file:///etc/passwd'", 2, "webhook"),
        ("[agent]\notlp = '127.0.0.1:4318'", 2, "otlp"),
        ("[agent]\nupload = '/bucket'", 2, "upload"),
        ("[agent]\nupload = 's3://'", 2, "upload"),
        ("[agent]\nstatements = 'postgresql://me:secret@/'", 2, "statements"),
        ("[agent]\nevrey = '5 s'", 2, "evrey"),
        ("[agent]\n[trigers]\n", 2, "trigers"),
        ("every = '5 s'", 1, "every"),
        ("[triggers]\nA = 'fsync p99 > 5 ms'", 2, "A"),
        ("[agent]\na = 1\n[triggers]\na = 'x'", 2, "a"),
        ("[triggers]\na = 'pread64 p99 > 5 ms'", 2, "a"),
    ],
)
def test_a_mistake_is_named_by_line_and_key(tmp_path: Path, text: str, line: int, key: str) -> None:
    file = written(tmp_path, text)
    with wrong("setting-wrong", where=f"{file}: line {line}", key=key) as problem:
        settings.read(file)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("[triggers]\na = 5", 2, "a"),
        ("[triggers.a]\nservice = 'db'", 1, "a"),
        ("[triggers.a]\nwhen = 'x'", 2, "a"),
        (f"[triggers.a]\n{WHEN}\nservice = 5", 3, "a: service"),
        (f"[triggers.a]\n{WHEN}\nsevrice = 'x'", 3, "a: sevrice"),
        (f"[triggers.a]\n{WHEN}\nper-hour = 0", 3, "a: per-hour"),
        ("[triggers]\na = {when = 'threads in D > 8', device = 'vda'}", 2, "a"),
        (f"[triggers.a]\n{WHEN}\nservice = 'a'\ncontainer = 'a'", 4, "a: container"),
        ("[triggers]\na = 'fsync p99 > 5 ms'\nb = 'x'", 3, "b"),
    ],
)
def test_a_mistake_of_a_trigger_is_named_by_line(
    tmp_path: Path, text: str, line: int, named: str
) -> None:
    file = written(tmp_path, text)
    with wrong("trigger-wrong", where=f"{file}: line {line}", named=named) as problem:
        settings.read(file)
    assert "\n" not in str(problem.value)


def test_what_is_no_toml_is_named_by_line_and_column(tmp_path: Path) -> None:
    file = written(tmp_path, "[agent\n")
    with wrong("path-error", path=file) as problem:
        settings.read(file)
    assert str(problem.value.sentence.values["error"]).startswith("line 1, column 7: ")


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with wrong("agent-settings-unreadable", error="No such file or directory"):
        settings.read(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with wrong("settings-not-text", path=tmp_path / "bytes"):
        settings.read(tmp_path / "bytes")


def test_a_file_that_is_not_there_and_what_is_shown_without_a_name_say_the_way_out(
    tmp_path: Path,
) -> None:
    with wrong("agent-settings-unreadable", path=tmp_path / "nowhere.toml"):
        settings.read(tmp_path / "nowhere.toml")
    asks(
        invoke(["agent", "show"]).exception,
        "agent-show-of-what",
        files="unit, config, alerts, board",
    )
