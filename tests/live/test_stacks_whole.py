"""Programs as the distribution has them, without frame pointers: their stacks lead to where their thread started."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks import stacks
from conftest import cannot_run
from machine import record

pytestmark = pytest.mark.usefixtures("live")

#: What makes the command in a folder, small, and what it needs.
PROGRAMS: dict[str, tuple[Callable[[Path], Sequence[str]], tuple[str, ...]]] = {
    "sqlite3": (lambda folder: stacks.sqlite(folder, 1_000), ("sqlite3",)),
    "gcc": (lambda folder: stacks.compile_(folder, 3), ("gcc", "make")),
    "python3": (stacks.python, ("/usr/bin/python3",)),
    "redis": (lambda folder: stacks.redis(folder, 1_000), ("redis-server", "redis-benchmark")),
    "postgres": (lambda folder: stacks.postgres(folder, 300), ("initdb", "postgres")),
}
#: Too few say nothing of a share.
LEAST_SAMPLES = 40
LEAST_WHOLE = 0.95


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that PostgreSQL may look into, which does not run as root; a short name, for a socket."""
    with tempfile.TemporaryDirectory(prefix="iowhy-test.", dir="/var/tmp") as name:
        made = Path(name)
        made.chmod(0o777)
        yield made


@pytest.mark.parametrize("program", PROGRAMS)
def test_stacks_lead_to_the_start_of_their_thread(
    program: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    make, needed = PROGRAMS[program]
    lacking = [name for name in needed if shutil.which(name) is None]
    if lacking:
        cannot_run(request, f"{', '.join(lacking)}: not installed")
    recording = record(make(folder), folder / "r.iowhy", "--stacks")
    whole, samples = stacks.whole_of(recording)
    assert samples >= LEAST_SAMPLES
    assert whole >= LEAST_WHOLE * samples
    assert recording.manifest.lost() == 0
