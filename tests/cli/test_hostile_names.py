"""Names of files, commands and columns come from anybody: a terminal shows them and obeys none of them."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from iowhy.commands.experiment import findings_for
from iowhy.messages import json_text, printable
from iowhy.views.progress import TrialsLine
from tests.whys.made import Story

IOWHY = [sys.executable, "-m", "iowhy"]
#: A colour, C1's CSI (one character, two bytes), DEL, and what turns a line's direction.
NASTY = "x\x1b[31m\x9b2J\x7f\u202ey"
ACTING = ("\x1b", "\x9b", "\x7f", "\u202e")


@pytest.fixture
def rec(tmp_path: Path) -> Path:
    """A recording whose name, command and files are meant for the terminal."""
    path = tmp_path / f"{NASTY}.iowhy"
    story = Story(seconds=1.5).thread(user=0.97).caller("read", 40, blocked=1_000_000)
    story.write(path)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["command"]["argv"] = ["a", NASTY]
    manifest["notes"] = [NASTY]
    manifest["tables"][NASTY] = {"kept": 1, "lost": 1}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def on_a_terminal(*words: str | Path) -> str:
    """What the command prints on a terminal of its own, both streams."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*IOWHY, *words], stdout=theirs, stderr=theirs, env=os.environ | {"NO_COLOR": "1"}
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # EIO: nobody holds the other end any more (pty(7))
            part = b""
        if not part:
            break
        shown += part
    os.close(ours)
    child.wait()
    # The progress line clears itself with this.
    return shown.decode().replace("\r\x1b[K", "")


@pytest.mark.parametrize(
    "words",
    [
        ["why"], ["why", "--json"], ["check"], ["check", "--json"], ["compare"], ["report", "files"],
        ["report", NASTY], ["sql"], ["diagnose"], ["experiment", NASTY, "--"],
    ],
)  # fmt: skip
def test_a_terminal_obeys_no_name(rec: Path, words: list[str]) -> None:
    sql = [f"SELECT '{NASTY}' AS \"{NASTY}\" "] if words == ["sql"] else []
    shown = on_a_terminal(*words, rec, *sql, *([rec] if words == ["compare"] else []))
    assert "x" in shown and not [c for c in ACTING if c in shown], shown


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_rows_act_neither_on_a_terminal_nor_in_a_file(rec: Path, form: str, tmp_path: Path) -> None:
    query = [str(rec), f"SELECT '{NASTY}' AS a, ['{NASTY}'] AS b", "--format", form]
    shown = on_a_terminal("sql", *query)
    assert not [c for c in ACTING if c in shown], shown
    if form != "table":
        subprocess.run([*IOWHY, "sql", *query, "-o", tmp_path / "out"], check=True)
        kept = (tmp_path / "out").read_text()
        assert not [c for c in ACTING if c in kept], kept
        if form == "json":
            assert json.loads(kept)["rows"][0]["a"] == NASTY
        else:
            assert kept == shown.replace("\r\n", "\n")
            assert kept.count(r"x\x1b[31m\x9b2J\x7f\u202ey") == 2


def test_a_row_of_csv_is_one_line_and_no_line_is_a_formula(rec: Path) -> None:
    query = "SELECT E'é　a\n=cmd()\r@x' AS a, ['=cmd()', 'b'] AS b, [-1] AS c, E'\t=cmd()' AS d"
    done = subprocess.run(
        [*IOWHY, "sql", rec, query, "--format", "csv"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "a,b,c,d\né　a\\x0a=cmd()\\x0d@x,'=cmd()|b,-1,\\x09=cmd()\n"


def test_json_means_the_same_with_what_is_escaped() -> None:
    odd = NASTY + "\u2066\ud800é\U0001f600\n"
    text = json_text({"a": odd})
    assert json.loads(text) == {"a": odd} and not [c for c in ACTING if c in text]
    assert "é\U0001f600" in text
    assert printable(odd).startswith("x\\x1b[31m\\x9b2J\\x7f\N{REPLACEMENT CHARACTER}y")


def test_a_stream_of_few_letters_ends_nothing(rec: Path) -> None:
    for encoding in ("ascii", "latin-1"):
        done = subprocess.run(
            [*IOWHY, "why", rec],
            env=os.environ | {"PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0 and b"\\u2192" in done.stdout and done.stderr == b""


@pytest.mark.parametrize("words", [["why"], ["check"], ["report", "files"], ["sql"]])
def test_a_path_that_is_no_text_is_a_message(rec: Path, words: list[str]) -> None:
    odd = os.fsdecode(os.fsencode(rec.parent) + b"/\xff.iowhy")
    rec.rename(odd)
    query = ["SELECT 1"] if words == ["sql"] else []
    done = subprocess.run(
        [*IOWHY, *words, odd, *query], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "not UTF-8" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_link_that_leads_nowhere_is_no_reason_not_to_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.iowhy").symlink_to("nowhere")
    (tmp_path / "b.iowhy").symlink_to("b.iowhy")
    story = Story(seconds=1.5).thread(user=0.97)
    story.write(tmp_path / "c.iowhy")
    manifest = json.loads((tmp_path / "c.iowhy" / "manifest.json").read_text())
    manifest["command"]["argv"] = ["true"]
    (tmp_path / "c.iowhy" / "manifest.json").write_text(json.dumps(manifest))
    _, source, same = findings_for(None, ["true"], [], TrialsLine(quiet=True))
    assert source is not None and source.name == "c.iowhy" and same
