"""What is read may be made to have no end: a command ends after bounded CPU time, with one clear error."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from iowhy.cli._ending import MOST_CPU_NS, end_after
from tests.sources.reading import FIXTURES

ONE_ROW = Path(__file__).parents[2] / "docs" / "recordings" / "one-row.iowhy.zip"

#: Never comes back from the first file of others' that is read: Python's code, or code that hears no signal.
_ENDLESS = """
import sys
others, native = sys.argv[1], sys.argv[2] == "native"
def hook(event, words):
    if event == "open" and str(words[0]).startswith(others):
        while True:
            if native: 7 ** 10_000_000
sys.addaudithook(hook)
sys.argv = ["iowhy", *sys.argv[3:]]
from iowhy.cli import _ending
_ending._GRACE_S = 1
from iowhy.cli.main import main
main()
"""


def ended(typed: str, folder: Path, code: str = "python", **environment: str) -> tuple[int, str, str]:  # fmt: skip
    """Its status, stdout and stderr."""
    stands = {"REC": str(ONE_ROW), "TEXT": str(FIXTURES / "iostat-12-plain.txt")}
    others = next(stands[word] for word in typed.split() if word in stands)
    words = [stands.get(word, word.replace("+", " ")) for word in typed.split()]
    done = subprocess.run(
        [sys.executable, "-c", _ENDLESS, others, code, *words],
        cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "IOWHY_CPU_TIME": "1s", "XDG_CACHE_HOME": str(folder), **environment},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "typed",
    [
        "why REC",
        "report sync REC",
        "html REC -o page.html",
        "export REC -o trace.pftrace",
        "diagnose TEXT -o d.iowhy",
        "fleet report sync REC",
    ],
)
def test_what_has_no_end_is_one_clear_error(typed: str, tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    status, out, error = ended(typed, tmp_path, TMPDIR=str(left))
    assert (status, out) == (2, "")
    (line,) = error.splitlines()
    assert line.startswith("iowhy: ") and "IOWHY_CPU_TIME" in line
    assert not list(left.iterdir())


def test_json_has_it_too(tmp_path: Path) -> None:
    status, out, _ = ended("why REC --json", tmp_path)
    assert status == 2 and json.loads(out)["error"]["id"] == "too-much-cpu-time"


def test_a_query_ends(tmp_path: Path) -> None:
    words = ["sql", str(ONE_ROW), "SELECT count(*) FROM range(100000000000) a, range(100000) b"]
    done = subprocess.run(
        [sys.executable, "-m", "iowhy.cli.main", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, "IOWHY_CPU_TIME": "2s"},
    )  # fmt: skip
    assert done.returncode == 2 and "IOWHY_CPU_TIME" in done.stderr.splitlines()[-1]


def test_what_hears_no_signal_is_killed(tmp_path: Path) -> None:
    status, _, _ = ended("why REC", tmp_path, "native")
    assert status in (-signal.SIGKILL, 2)  # between two numbers it may be heard


def test_a_senseless_time_is_one_clear_error(tmp_path: Path) -> None:
    status, _, error = ended("why REC", tmp_path, IOWHY_CPU_TIME="soon")
    assert status == 2 and "IOWHY_CPU_TIME" in error


def test_who_calls_a_command_within_its_own_process_stays_free() -> None:
    before = resource.getrlimit(resource.RLIMIT_CPU)
    end_after(1)
    assert resource.getrlimit(resource.RLIMIT_CPU) == before


def test_long_work_has_an_hour_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOWHY_CPU_TIME", "")
    code = (
        "import resource; from iowhy.cli._ending import end_after; from iowhy.recordings import box; box.own(); end_after(3); "
        "print(resource.getrlimit(resource.RLIMIT_CPU)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 3 * MOST_CPU_NS // 10**9 >= 3 * 3600
