"""What a reader of the documentation has at hand, for commands that are typed as they stand: recordings and texts by the pages' names."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.docs.recordings import FOLDER

_ROOT = FOLDER.parents[1]
RECORDING = re.compile(r"\S+\.iowhy|REC|RECORDING|BEFORE|AFTER|[\w-]+/")
_TEXTS = _ROOT / "tests" / "sources" / "fixtures"
#: What other programs printed, by the names that pages give such files, and by the programs themselves.
PRINTED = {
    "incident.txt": "iostat-12-x.txt",
    "iostat.txt": "iostat-12-x.txt",
    "free.txt": "pagecache-large.free.txt",
    "cachestat.txt": "pagecache-large.cachestat.txt",
    "load.strace": "traces/strace-f-ttt-T-y.txt",
    "iostat": "iostat-12-x.txt",
    "perf": "traces/perf-script.txt",
}
#: A process of what perf has printed there.
PRINTED_PID = "27160"


def place(folder: Path, word: str, names: Iterator[str]) -> None:
    """Puts there what the word of a call names, if it names a file of the reader's; recordings are those of docs/recordings."""
    at = folder / word
    if word.startswith("-") or (at.exists() and word != ""):
        return
    if "*" in word and word.startswith("host="):
        host = folder / word.replace("*", "-1")
        host.mkdir()
        shutil.copy(FOLDER / "one-row.iowhy.zip", host)
    elif word == "recordings":
        at.mkdir()
        for name in ("one-row", "batched"):
            shutil.copy(FOLDER / f"{name}.iowhy.zip", at)
    elif word.startswith("docs/recordings/"):
        at.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_ROOT / word, at)
    elif word in PRINTED:
        shutil.copy(_TEXTS / PRINTED[word], at)
    elif word.endswith((".csv", ".toml", ".json")) and (text := _shown(word)):
        at.write_text(text)
    elif word.endswith(".iowhy.zip"):
        shutil.copy(FOLDER / "one-row.iowhy.zip", at)
    elif RECORDING.fullmatch(word):
        kept = FOLDER / f"{word}.zip"
        _recording(at, at.stem if kept.exists() else next(names))


def _recording(at: Path, name: str) -> None:
    """A recording, or a directory of three."""
    if at.suffix or at.name.isupper():
        unpacked = at.parent / f"{at.name}-unpacked"
        shutil.unpack_archive(FOLDER / f"{name}.iowhy.zip", unpacked)
        (unpacked / f"{name}.iowhy").rename(at)
    else:
        at.mkdir()
        for number in range(3):
            shutil.copy(FOLDER / f"{name}.iowhy.zip", at / f"{number}.iowhy.zip")


def _shown(name: str) -> str | None:
    """A file that a page shows."""
    page, begin = {
        "table.csv": ("experiments.md", "# metric: "),
        "agent.toml": ("agent.md", "[agent]"),
    }.get(name, (None, ""))
    if page is None:
        return None
    blocks = re.findall(r"^```\w*\n(.*?)^```", (_ROOT / "docs" / page).read_text(), re.M | re.S)
    return next(block for block in blocks if block.startswith(begin))


def printed_by(line: str) -> str | None:
    """What the program in front of a pipe has printed."""
    name = re.match(r"(iostat|perf) .*\| iowhy", line)
    return (_TEXTS / PRINTED[name[1]]).read_text() if name else None
