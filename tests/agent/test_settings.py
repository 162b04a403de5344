"""The agent's file: every key, and one clear line for each mistake."""

from pathlib import Path

import pytest

from iowhy.agent import settings
from iowhy.agent.conditions import Scope
from iowhy.errors import Problem
from iowhy.recordings import object_store
from tests.command_line import invoke

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
    assert found.otlp == "http://127.0.0.1:4318"
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
    ("text", "says"),
    [
        ("[agent]\nevery = 10", "line 2: every: give a time"),
        ("[agent]\n\nkeep-size = '5'", "line 3: keep-size: give a size"),
        ("[agent]\nper-hour = true", "line 2: per-hour: give a number"),
        ("[agent]\ncalls = 1", "line 2: calls: give true or false"),
        ("[agent]\ndirectory = 'here'", "line 2: directory: give a path"),
        ("[agent]\nmetrics = '9469'", "line 2: metrics: give HOST:PORT"),
        ("[agent]\nmetrics = ':99999'", "line 2: metrics: give HOST:PORT"),
        ("[agent]\nwebhook = 'file:///etc/passwd'", "line 2: webhook: give an address"),
        ("[agent]\notlp = '127.0.0.1:4318'", "line 2: otlp: give an address"),
        ("[agent]\nupload = '/bucket'", "line 2: upload: give s3://BUCKET/PREFIX"),
        ("[agent]\nupload = 's3://'", "line 2: upload: give s3://BUCKET/PREFIX"),
        ("[agent]\nevrey = '5 s'", "line 2: evrey: no such key; there are directory, every"),
        ("[agent]\n[trigers]\n", "line 2: trigers: there are the tables"),
        ("every = '5 s'", "line 1: every: there are the tables"),
        ("[triggers]\nA = 'fsync p99 > 5 ms'", "line 2: A: a name has small letters"),
        ("[triggers]\na = 5", "line 2: a: give a condition"),
        ("[triggers.a]\nservice = 'db'", "line 1: a: give a condition"),
        ("[triggers.a]\nwhen = 'x'", "line 2: a: no condition"),
        (f"[triggers.a]\n{WHEN}\nservice = 5", "line 3: a: service: give a name"),
        (f"[triggers.a]\n{WHEN}\nsevrice = 'x'", "line 3: a: sevrice: no such key of a trigger"),
        (f"[triggers.a]\n{WHEN}\nper-hour = 0", "line 3: a: per-hour: give a number"),
        (
            "[triggers]\na = {when = 'threads in D > 8', device = 'vda'}",
            "line 2: a: threads in D is of the whole machine",
        ),
        (
            f"[triggers.a]\n{WHEN}\nservice = 'a'\ncontainer = 'a'",
            "line 4: a: container: give `service` or `container`",
        ),
        ("[agent]\na = 1\n[triggers]\na = 'x'", "line 2: a: no such key"),
        ("[triggers]\na = 'fsync p99 > 5 ms'\nb = 'x'", "line 3: b: no condition"),
        ("[triggers]\na = 'pread64 p99 > 5 ms'", "line 2: a: this needs every call .* traced"),
        ("[agent\n", "line 1, column 7: "),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(Problem, match=f"^{file}: {says}") as problem:
        settings.read(file)
    assert "\n" not in str(problem.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="No such file"):
        settings.read(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(Problem, match="UTF-8"):
        settings.read(tmp_path / "bytes")


def test_a_file_that_is_not_there_and_what_is_shown_without_a_name_say_the_way_out(
    tmp_path: Path,
) -> None:
    with pytest.raises(Problem, match=r"nowhere.toml: No such file or directory; -c names another"):
        settings.read(tmp_path / "nowhere.toml")
    assert "unit, config, alerts, board: `iowhy agent show unit`" in str(
        invoke(["agent", "show"]).exception
    )
