"""Damaged recordings: whatever is asked of one ends with an answer or one clear error, in bounded memory and time."""

import random
import shutil
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from time import monotonic

from iowhy.recordings.schema import tables
from tests.torture.bases import BASES
from tests.torture.damage import damage
from tests.torture.in_child import call, prepare
from tests.torture.report import Tally

#: Statuses with which a command may end (docs/using.md): `no` is an answer of these two.
_YES, _YES_NO = frozenset({0, 2}), frozenset({0, 1, 2})


def run(seed: int, end: float, recordings: Sequence[Path] = (), most: int | None = None) -> Tally:
    """Mutants from `seed` on until `end`, or `most` of them; `recordings` are damaged as well as the made ones."""
    prepare()
    tally = Tally("mutants", seed)
    with tempfile.TemporaryDirectory(prefix="iowhy-torture-") as folder:
        whole = [_made(Path(folder), name) for name in BASES] + list(recordings)
        number = seed
        while monotonic() < end and (most is None or number < seed + most):
            _one(tally, whole, Path(folder) / f"{number}.iowhy", number)
            number += 1
    return tally


def _made(folder: Path, name: str) -> Path:
    path = folder / f"{name}.iowhy"
    BASES[name](path)
    (path / "experiments").mkdir()
    (path / "experiments" / "000001.json").write_text(_EXPERIMENT)
    return path


_EXPERIMENT = """{"results": [], "iowhy": {"findings": [{"cause": "sync-storm", "outcome": "confirmed",
 "confidence_after": 0.95, "because": "without sync it is twice as fast"}]}}"""


def _one(tally: Tally, whole: Sequence[Path], path: Path, seed: int) -> None:
    dice = random.Random(~seed)
    base = whole[seed % len(whole)]
    shutil.copytree(base, path, symlinks=True)
    try:
        done = damage(path, seed)
        tally.counts["mutants"] += 1
        for words in _asked(path, base, dice):
            tally.counts["calls"] += 1
            ended = call(words)
            why = ended.why_wrong(_YES_NO if words[0] in ("check", "compare") else _YES)
            tally.counts[("answered", "no", "refused")[ended.status] if 0 <= ended.status < 3 else "failed"] += 1  # fmt: skip
            if why is not None:
                shown = " ".join(word.replace(str(path), "REC") for word in words)
                tally.fail(seed, f"{base.name}: {', '.join(done)}: iowhy {shown}: {why}")
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _asked(path: Path, base: Path, dice: random.Random) -> list[list[str]]:
    """One of all that can be asked: another mutant is worth more than another question."""
    recording = str(path)
    reports = sorted(f.name.removesuffix(".sql") for f in resources.files("iowhy.reports").iterdir() if f.name.endswith(".sql"))  # fmt: skip
    table = dice.choice(list(tables()))
    form = dice.choice(["table", "csv", "json"])
    asked = [
        ["why", recording],
        ["why", recording, "--json"],
        ["check", recording],
        ["report", dice.choice(reports), recording, "--format", form],
        ["report", dice.choice(reports), recording, "--wide"],
        ["report", dice.choice(reports), recording, "--pid", "10"],
        ["sql", recording, f"SELECT * FROM {table}", "--format", form],
        ["sql", recording, "--list"],
        ["compare", recording, str(base)],
        ["compare", str(base), recording, "--json"],
        ["check", recording, "--json"],
    ]
    return [dice.choice(asked)]
