"""What is made to be passed on holds no secret of a command line; --keep-secrets keeps it."""

import asyncio
import json
import zipfile
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from iowhy.mcp.server import _saying
from iowhy.mcp.tools import verdict
from iowhy.recordings import open_recording
from iowhy.recordings.day_packs import INDEX
from tests.command_line import invoke
from tests.whys.made import MS, Story

SECRETS = ("hunter2-and-more", "s3cr3t-token-abc")
ARGV = ["sqlite3", f"--password={SECRETS[0]}", "--token", SECRETS[1], "a.db"]
MADE = {
    "html": ["html", "a.iowhy", "-o"],
    "html-two": ["html", "a.iowhy", "b.iowhy", "-o"],
    "html-experiment": ["html", "a.iowhy/experiments/000001.json", "-o"],
    "pack": ["pack", "a.iowhy", "-o"],
    "speedscope": ["export", "a.iowhy", "--to", "speedscope", "-o"],
    "perfetto": ["export", "a.iowhy", "-o"],
    "chrome": ["export", "a.iowhy", "--to", "chrome", "-o"],
}


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from iowhy.experiments.result import save_beside
    from tests.experiment.test_words import made

    monkeypatch.chdir(tmp_path)
    for name in ("a.iowhy", "b.iowhy"):
        story = Story(seconds=0.2).thread(user=0.5).caller("fsync", 3, blocked=9 * MS)
        manifest = story.file(77, "a").write(Path(name)).path / "manifest.json"
        loaded = json.loads(manifest.read_text())
        loaded["command"] |= {"argv": ARGV}
        manifest.write_text(json.dumps(loaded))
    save_beside(Path("a.iowhy"), replace(made({"cpu-quota 50 %": 2.0}), command=tuple(ARGV)))


def content(path: Path) -> str:
    if not zipfile.is_zipfile(path):
        return path.read_bytes().decode("utf-8", "replace")
    with zipfile.ZipFile(path) as archive:
        return "".join(archive.read(one).decode("utf-8", "replace") for one in archive.namelist())


@pytest.mark.parametrize("name", MADE)
def test_no_secret_is_in_what_a_command_makes(name: str) -> None:
    assert invoke([*MADE[name], "masked"]).exit_code == 0
    assert not [one for one in SECRETS if one in content(Path("masked"))]
    assert invoke([*MADE[name], "kept", "--keep-secrets"]).exit_code == 0
    shows = name not in ("html-two", "perfetto", "chrome")  # they hold no command line
    assert all((one in content(Path("kept"))) == shows for one in SECRETS)


@pytest.mark.parametrize("options", [[], ["--judge"]], ids=["rows", "judged"])
def test_no_secret_is_in_the_packs_of_a_fleet(options: list[str]) -> None:
    for keep in ([], ["--keep-secrets"]):
        to = Path(f"packs{len(keep)}")
        assert invoke(["fleet", "pack", "a.iowhy", "-o", str(to), *options, *keep]).exit_code == 0
        (index,) = to.glob(f"**/{INDEX}")
        found = str(duckdb.execute(f"FROM '{index}'").fetchall())
        assert "--password=" in found
        assert [one in found for one in SECRETS] == [bool(keep)] * 2


def test_a_pack_without_secrets_is_what_was_recorded_else() -> None:
    assert invoke(["pack", "a.iowhy"]).exit_code == 0
    packed, before = open_recording("a.iowhy.zip"), open_recording("a.iowhy")
    assert packed.manifest == before.without_secrets().manifest != before.manifest
    assert open_recording("b.iowhy").without_secrets().without_secrets().manifest.command.argv == (
        "sqlite3", "--password=***", "--token", "***", "a.db"
    )  # fmt: skip


@pytest.mark.parametrize("keep", [False, True])
def test_nor_is_one_in_what_an_agent_is_told(keep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked(_: str, words: dict[str, object], within_s: float) -> dict[str, object]:
        assert within_s > 0 and words == {"recording": "a.iowhy"}
        return {"said": " ".join(ARGV), "argv": ARGV}

    monkeypatch.setattr("iowhy.mcp.server.answered", asked)
    tool = _saying(verdict, ValueError, 60.0, keep)
    found = asyncio.run(tool(recording="a.iowhy"))
    assert [one in json.dumps(found) for one in SECRETS] == [keep, keep]
