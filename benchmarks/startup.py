"""How long commands take that have little to do: `python -m benchmarks.startup [--against FOLDER]`.

FOLDER is the `python` folder of another version of iowhy, which is timed in the same turns.
"""

import compileall
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.generated import generate

ROUNDS = 15
SMALL_CALLS, LARGE_CALLS = 2_000, 1_000_000
#: Commands that are recorded, by what is said of them: the first ones are small; the others have about a million rows each,
#: most of dd's are calls; of fio's a third each are calls, requests and waits.
RECORDED_SMALL = {
    "dd's two thousand calls": "dd if=/dev/zero of=FILE bs=4k count=1000",
    "tar of a package": "tar cf FILE PACKAGE",
}
RECORDED = {
    "dd's million calls": "dd if=/dev/zero of=FILE bs=4k count=500000",
    "fio's million rows": "fio --name=x --filename=FILE --size=256m --rw=randread --bs=4k --direct=1"
    " --ioengine=psync --io_size=1200m --output=/dev/null",
}
OWN = Path(__file__).parents[1] / "python"
#: As it is installed, which starts Python with what PYTHONPATH says.
IOWHY = Path(sys.executable).with_name("iowhy")
#: Another version's command line, whose script may be another one.
ANY_VERSION = "from iowhy.cli.main import main; main()"
#: Some 20 files of Python itself.
PACKAGE = str(Path(sysconfig.get_path("stdlib")) / "email")

#: What `iowhy why` of a small recording is held against: at most 3.5 times as long.
DUCKDB = "python -c 'import duckdb'"
WHY = "iowhy why, {}"


def table(against: Path | None = None) -> str:
    """Markdown: the median of each command, lowest and highest, and over that of DuckDB's import."""
    with tempfile.TemporaryDirectory() as folder:
        times = _measure(Path(folder), against)
    heads = ["command", f"over `{DUCKDB}`", "seconds", *(["seconds before"] if against else [])]
    unit = statistics.median(times[DUCKDB, "now"])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name in dict.fromkeys(name for name, _ in times):
        over = f"{statistics.median(times[name, 'now']) / unit:.1f}"
        cells = [
            _shown(times.get((name, tree), ())) for tree in ("now", "before")[: 1 + bool(against)]
        ]
        lines.append(f"| {' | '.join([name, over, *cells])} |")
    return "\n".join(lines)


def _measure(folder: Path, against: Path | None) -> Mapping[tuple[str, str], Sequence[float]]:
    """Seconds by (command, which version), all in random order, round by round."""
    small = generate(folder / "small.iowhy", SMALL_CALLS).path
    recordings = {
        **{what: _recorded(folder, command) for what, command in RECORDED_SMALL.items()},
        "a small recording made by hand": small,
        **{what: _recorded(folder, command) for what, command in RECORDED.items()},
        # Without the sums that the recorder writes, and with what it seldom has at once: waits, pages and requests of all kinds.
        "2.1 million rows made by hand": generate(folder / "large.iowhy", LARGE_CALLS).path,
    }
    trees = {"now": OWN} | ({"before": against} if against else {})
    for path in trees.values():
        # As an installation has it, also where the environment forbids to write what was compiled.
        compileall.compile_dir(path, quiet=1)
    calls: dict[tuple[str, str], tuple[list[str], Path]] = {}
    if shutil.which("perf"):
        calls["perf stat -- true", "now"] = (["perf", "stat", "--", "true"], OWN)
    calls["python -c pass", "now"] = ([sys.executable, "-c", "pass"], OWN)
    calls[DUCKDB, "now"] = ([sys.executable, "-c", "import duckdb"], OWN)
    for tree, path in trees.items():
        iowhy = [str(IOWHY)] if tree == "now" else [sys.executable, "-c", ANY_VERSION]
        calls["iowhy --version", tree] = ([*iowhy, "--version"], path)
        for what, recording in recordings.items():
            calls[WHY.format(what), tree] = ([*iowhy, "why", str(recording)], path)
        calls["iowhy run -- true", tree] = ([*iowhy, "run", "-o", "OUT", "--", "true"], path)
    found: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    for turn in range(ROUNDS + 1):
        for key in random.sample(list(calls), len(calls)):
            words, path = calls[key]
            out = folder / f"{turn}-{key[1]}.iowhy"
            words = [str(out) if word == "OUT" else word for word in words]
            # A version that keeps answers has none of them in its cache.
            took = _seconds(
                words, path, folder / f"cache-{turn}-{key[1]}-{len(found[key])}-{hash(key)}"
            )
            if turn:  # the first round fills the page cache and Python's own
                found[key].append(took)
    return found


def _recorded(folder: Path, command: str) -> Path:
    """A recording of the command, whose FILE is gone again."""
    file = folder / "file"
    words = command.replace("FILE", str(file)).replace("PACKAGE", PACKAGE).split()
    made = folder / f"{words[0]}-{len(list(folder.iterdir()))}.iowhy"
    environment = {**os.environ, "PYTHONPATH": str(OWN)}
    subprocess.run(
        [IOWHY, "run", "-q", "-o", made, "--", *words],
        env=environment,
        capture_output=True,
        check=True,
    )
    file.unlink()
    return made


def _seconds(words: Sequence[str], path: Path, cache: Path) -> float:
    cache.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(path), "XDG_CACHE_HOME": str(cache)}
    begun = time.perf_counter()
    subprocess.run(words, env=environment, capture_output=True, check=True)
    return time.perf_counter() - begun


def _shown(seconds: Sequence[float]) -> str:
    if not seconds:
        return "–"
    middle = statistics.median(seconds)
    return f"{middle:.3f} ({min(seconds):.3f} to {max(seconds):.3f})"


if __name__ == "__main__":
    other = sys.argv[2] if sys.argv[1:2] == ["--against"] else None
    print(table(None if other is None else Path(other).resolve()))
