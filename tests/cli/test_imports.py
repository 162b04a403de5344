"""What takes long to import is imported by what uses it: help, lists and the verdict do not wait for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iowhy.cli._commands import COMMANDS
from tests.whys.made import Story

FIXTURES = Path(__file__).parents[1] / "sources/fixtures/traces"

#: Modules that take from a tenth of a second to some seconds to import.
HEAVY = frozenset(
    {
        "_duckdb",
        "duckdb",
        "numpy",
        "scipy",
        "pyarrow",
        "pandas",
        "sqlglot",
        "pydantic",
        "google",
        "pyspark",
    }
)
#: What iowhy does without, though tests and notebooks may have it.
NOT_NEEDED = ("pyarrow", "pandas", "scipy", "sqlglot")
RAN = f"""
import sys
sys.modules.update(dict.fromkeys({NOT_NEEDED}))  # as if it were not installed
sys.argv = ["iowhy", *sys.argv[1:]]
from iowhy.cli.main import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
finally:
    print(*{{name.partition(".")[0] for name, module in sys.modules.items() if module}}, file=sys.stderr)
"""


def imported(*words: object) -> frozenset[str]:
    """The heavy modules that a command line imports, which needs none of NOT_NEEDED."""
    done = subprocess.run(
        [sys.executable, "-c", RAN, *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # the code that is tested
    )
    return HEAVY & set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def rec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports") / "made.iowhy"
    story = Story(seconds=0.5).thread(user=0.5).caller("read", 40, blocked=1_000_000)
    story.requests(40).flushes(4, 1_000_000).write(folder)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_none(command: str) -> None:
    assert imported(command, "--help") == frozenset()


def test_lists_import_none_but_what_they_list() -> None:
    assert imported("experiment", "--list") == frozenset()
    assert imported("report") <= {"duckdb", "_duckdb"}


def test_a_verdict_imports_duckdb_alone(rec: Path) -> None:
    assert imported("why", rec) <= {"duckdb", "_duckdb"}
    assert imported("why", rec, "--json") <= {"duckdb", "_duckdb"}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_are_written_without_what_others_bring(rec: Path, tmp_path: Path, form: str) -> None:
    rows = tmp_path / f"rows.{form}"
    imported("report", "syscalls", rec, "--format", form, "-o", rows)
    imported("sql", rec, "FROM waits", "--format", form, "-o", rows, "--force")
    assert rows.stat().st_size > 0


@pytest.mark.parametrize("to", ["perfetto", "parquet"])
def test_recordings_are_exported_without_what_others_bring(
    rec: Path, tmp_path: Path, to: str
) -> None:
    imported("export", rec, "--to", to, "-o", tmp_path / "exported")
    assert (tmp_path / "exported").exists()


def test_recordings_are_checked_shown_and_made_without_what_others_bring(
    rec: Path, tmp_path: Path
) -> None:
    imported("check", rec)
    imported("html", rec, "-o", tmp_path / "page.html")
    imported("compare", rec, rec)
    log = FIXTURES / "strace-f-ttt-T-y.txt"
    imported("diagnose", log, "-o", tmp_path / "log.iowhy")
    imported("check", tmp_path / "log.iowhy")
