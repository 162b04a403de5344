"""What a command that reads keeps on disk meanwhile goes with it, however it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.generated import generate

#: Takes minutes, and more memory than it may have: rows go to the temporary folder.
LONG = "SELECT count(*) FROM (SELECT i, hash(i) AS h FROM range(6000000000) AS a(i) ORDER BY h) WHERE h % 7 = 0"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("recording") / "r.iowhy", 200).path


def as_from_a_terminal() -> None:
    """Who runs the tests may ignore signals (nohup, a shell's background), and iowhy leaves them ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def asking(recording: Path, folder: Path, sql: str = LONG) -> Iterator[subprocess.Popen[str]]:
    """`iowhy sql`, whose temporary files lie in a folder; once these are there, where the question is long."""
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    with subprocess.Popen(
        [sys.executable, "-m", "iowhy.cli.main", "sql", recording, sql],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder), "IOWHY_MEMORY": "128MiB"},
        preexec_fn=as_from_a_terminal,
    ) as asked:
        try:
            while sql == LONG and not any(
                file.stat().st_size
                for made in set(folder.iterdir()) - before
                for file in made.rglob("*.tmp")
            ):
                assert asked.poll() is None, asked.communicate()
                time.sleep(0.05)
            yield asked
        finally:
            asked.kill()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda n: n.name
)
def test_nothing_is_left_by_one_that_is_told_to_end(
    recording: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with asking(recording, tmp_path / "t") as asked:
        asked.send_signal(number)
        _, said = asked.communicate(timeout=60)
    assert asked.returncode == (130 if number == signal.SIGINT else -number)
    assert "Traceback" not in said
    assert not list((tmp_path / "t").iterdir())


def test_what_a_killed_one_left_goes_with_the_next_and_what_another_uses_stays(
    recording: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    with asking(recording, folder) as killed:
        killed.kill()
        killed.wait()
    (left,) = folder.iterdir()
    (folder / "iowhy-notes").mkdir()  # somebody's own
    with asking(recording, folder):
        (at_work,) = set(folder.iterdir()) - {left, folder / "iowhy-notes"}
        with asking(recording, folder, "SELECT 1") as quick:
            assert quick.wait(60) == 0
        assert set(folder.iterdir()) == {at_work, folder / "iowhy-notes"}


def test_nothing_is_left_by_a_verdict_whose_tables_are_still_put_away(
    recording: Path, tmp_path: Path
) -> None:
    (tmp_path / "t").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "iowhy.cli.main", "why", recording],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"TMPDIR": str(tmp_path / "t"), "XDG_CACHE_HOME": str(tmp_path / "c")},
    )
    assert done.stdout.endswith("html --open\n")  # all of it has arrived
    assert not list((tmp_path / "t").iterdir())
