"""What takes long to import is imported by what uses it: help, lists and the verdict do not wait for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iowhy.cli._commands import COMMANDS
from tests.whys.made import Story

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
RAN = """
import sys
sys.argv = ["iowhy", *sys.argv[1:]]
from iowhy.cli.main import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def imported(*words: object) -> frozenset[str]:
    """The heavy modules that a command line imports."""
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
    assert imported("report") <= {"_duckdb"}


def test_a_first_verdict_imports_duckdb_alone_and_the_next_nothing(rec: Path) -> None:
    assert imported("why", rec) == {"_duckdb"}
    assert imported("why", rec) == frozenset()
    assert imported("why", rec, "--json") == {"_duckdb"}  # it has the measures as well
    assert imported("why", rec, "--json") == frozenset()
