"""Recordings of docs/recordings that lack rows: whatever is missing, no other first cause than theirs is said to be sure.

A thinning removes rows of some tables: evenly, a burst, the first or the last ones. The manifest says so (`announced`), still counts
them (`counted`), or counts what is left (`silent`); or their sensor did not run, or a file is cut.
"""

import json
import os
import random
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings import open_recording
from iowhy.recordings.schema import tables
from iowhy.tables import sensors
from iowhy.whys.verdict import judge
from tests.torture.remembered import Memory, remembering
from tests.torture.report import Tally

KEPT = Path(__file__).parents[2] / "docs" / "recordings"
#: As sure as that is said as what it is.
SURE = 0.6
SAID = ("silent", "silent", "silent", "announced", "announced", "counted")
WHERE = ("even", "burst", "first", "last")
#: As `call_sums` of `syscalls`: those that are left, gone with the rows, or thinned alone.
SUMS = ("kept", "kept", "gone")


class Thinned(Struct, frozen=True):
    """What was done to a recording, and what is then said of it: first cause (None: none) and confidence."""

    name: str
    done: str
    kind: str
    whole: tuple[str | None, float]
    found: tuple[str | None, float]
    refused: bool = False

    @property
    def outcome(self) -> str:
        """right, doubted (right below SURE), abstained, refused, unsure (wrong below SURE) or wrong."""
        if self.refused:
            return "refused"
        cause, confidence = self.found
        if cause == self.whole[0]:
            return "right" if confidence >= SURE or cause is None else "doubted"
        return "abstained" if cause is None else "wrong" if confidence >= SURE else "unsure"

    def __str__(self) -> str:
        was, now = (f"{cause} {confidence:.2f}" for cause, confidence in (self.whole, self.found))
        return f"{self.name}: {self.done}: {was} → {now}"


def run(seed: int, end: float, most: int | None = None) -> Tally:
    """Thinnings from `seed` on until `end`, or `most` of them."""
    tally = Tally("thinnings", seed)
    with thinner() as thin:
        number = seed
        while monotonic() < end and (most is None or number < seed + most):
            one = thin(number)
            tally.counts[one.outcome] += 1
            tally.counts[f"{one.kind} {one.outcome}"] += 1
            if one.outcome == "wrong":
                tally.fail(number, str(one))
            elif one.outcome == "doubted" and one.whole[1] >= SURE:
                tally.counts[
                    "needlessly doubted" if one.kind == "announced" else "made doubtful"
                ] += 1
                if os.environ.get("DOUBTED"):
                    print(f"doubted {number}: {one}", flush=True)
            number += 1
    return tally


def doubts(seed: int, end: float, most: int | None = None) -> Tally:
    """Half of one table is lost, and said to be: how many right answers become guesses, by table. From the `seed`-th pair on."""
    tally = Tally("doubts", seed)
    with thinner() as thin:
        pairs = [(name, table) for name in thin.names for table in sorted(tables())]
        random.Random(1).shuffle(pairs)
        for number, (name, table) in enumerate(pairs[seed % len(pairs) :][:most]):
            if monotonic() > end:
                break
            one = thin.half(number, name, table)
            if one is None or one.whole[0] is None or one.whole[1] < SURE:
                continue
            tally.counts[one.outcome] += 1
            if one.outcome == "doubted":
                tally.counts[f"by {table}"] += 1
                if os.environ.get("DOUBTED"):
                    print(f"doubted: {one}", flush=True)
            elif one.outcome == "wrong":
                tally.fail(number, str(one))
    return tally


class thinner:
    """A function that thins one of the kept recordings, by a seed, and judges it; what it has in common with the whole one is
    `remembered`, which takes a quarter of the time.
    """

    def __init__(self, *, remembered: bool = True) -> None:
        self._remembered = remembered

    def __enter__(self) -> "thinner":
        self._open = ExitStack()
        self._memory = self._open.enter_context(remembering()) if self._remembered else Memory()
        self._temporary = tempfile.TemporaryDirectory(prefix="iowhy-thinned-")
        self._folder = Path(self._temporary.name)
        self._whole: dict[str, tuple[str | None, float]] = {}
        self.names = sorted(path.name.removesuffix(".zip") for path in KEPT.glob("*.zip"))
        return self

    def __exit__(self, *_: object) -> None:
        self._temporary.cleanup()
        self._open.close()

    def __call__(self, seed: int) -> Thinned:
        dice = random.Random(seed)
        return self._thinned(seed, dice.choice(self.names), lambda copy: damage(copy, dice))

    def half(self, number: int, name: str, table: str) -> Thinned | None:
        """One that lost half of a table; None if it has none."""

        def lost(copy: Path) -> tuple[str, str]:
            manifest = json.loads((copy / "manifest.json").read_text())
            thin_table(copy, table, 0.5, "even", "announced", manifest, random.Random(number))
            (copy / "manifest.json").unlink()
            (copy / "manifest.json").write_text(json.dumps(manifest))
            return "announced", f"half of {table}"

        with zipfile.ZipFile(KEPT / f"{name}.zip") as packed:
            if not any(f"/{table}/" in one for one in packed.namelist()):
                return None
        return self._thinned(number, name, lost)

    def _thinned(self, seed: int, name: str, done_to: Callable[[Path], tuple[str, str]]) -> Thinned:
        whole = self._folder / name
        if name not in self._whole:
            with zipfile.ZipFile(KEPT / f"{name}.zip") as packed:
                packed.extractall(self._folder)
            self._memory.keeps = True
            self._whole[name] = first(whole)
            self._memory.keeps = False
        copy = self._folder / f"{seed}-{name}"
        shutil.copytree(whole, copy, copy_function=os.link)
        try:
            kind, done = done_to(copy)
            try:
                found, refused = first(copy), False
            except Problem:
                found, refused = (None, 0.0), True
            return Thinned(
                name.removesuffix(".iowhy"), done, kind, self._whole[name], found, refused
            )
        finally:
            shutil.rmtree(copy)


def first(path: Path) -> tuple[str | None, float]:
    """The first cause of a recording, and how sure it is."""
    leading = next(iter(judge(open_recording(path)).findings), None)
    return (None, 0.0) if leading is None else (leading.cause, leading.confidence)


def damage(path: Path, dice: random.Random) -> tuple[str, str]:
    """Thins a recording whose files may be links; the kind of it, and what was done in words."""
    manifest = json.loads((path / "manifest.json").read_text())
    there = sorted(
        name for name, one in manifest["tables"].items() if one["kept"] and name in tables()
    )
    ran = [one["name"] for one in manifest["sensors"] if one["ran"]]
    filled = {name: [t for t in one.tables if t in there] for name, one in sensors().items()}
    by_sensor = {name: filled[name] for name in ran if filled.get(name)}
    chance = dice.random()
    if chance < 0.12 and by_sensor:
        sensor = dice.choice(sorted(by_sensor))
        for table in _with_sums(by_sensor[sensor], there):
            remove(path, table, manifest)
        for one in manifest["sensors"]:
            if one["name"] == sensor:
                one["ran"], one["why"] = False, "not permitted"
        kind, done = "off", f"sensor {sensor} off"
    elif chance < 0.15:
        file = dice.choice(sorted(path.glob("*/*.parquet")))
        whole = file.read_bytes()
        file.unlink()
        file.write_bytes(whole[: dice.randrange(len(whole))])
        kind, done = "cut", f"{file.parent.name} cut"
    else:
        kind = dice.choice(SAID)
        done = ", ".join(_some(path, kind, manifest, there, dice))
    (path / "manifest.json").unlink()
    (path / "manifest.json").write_text(json.dumps(manifest))
    return kind, f"{kind} {done}"


def _with_sums(names: list[str], there: list[str]) -> list[str]:
    return [*names, *(one for one in there if tables()[one].sums in names)]


def _some(
    path: Path, kind: str, manifest: dict[str, Any], there: list[str], dice: random.Random
) -> Iterator[str]:
    """Thins one table, or two."""
    for table in dice.sample(there, dice.choice([1, 1, 1, min(2, len(there))])):
        if not any((path / table).glob("*.parquet")):
            continue  # gone with the first one's rows, as its sums
        share = dice.choice([1.0, 1.0, dice.uniform(0.01, 1.0), dice.uniform(0.5, 1.0)])
        where = dice.choice(WHERE)
        sums = [one for one in there if tables()[one].sums == table]
        gone = bool(sums) and dice.choice(SUMS) == "gone"
        if gone:
            remove(path, table, manifest, itself=False)
        thin_table(path, table, share, where, kind, manifest, dice)
        yield f"{share:.0%} of {table} {where}{' without sums' if gone else ''}"


def thin_table(
    path: Path, table: str, share: float, where: str, kind: str, manifest: dict[str, Any], dice: random.Random
) -> None:  # fmt: skip
    """Removes rows of a table, and has the manifest count what is left, or say that they were lost."""
    files = sorted((path / table).glob("*.parquet"))
    rows = pa.concat_tables([pq.read_table(file) for file in files], promote_options="default")
    out = max(1, round(share * rows.num_rows))
    time = tables()[table].time
    if time is not None and where != "even":
        rows = rows.take(pc.sort_indices(rows, [(time, "ascending")]))
    begin = {
        "burst": dice.randrange(rows.num_rows - out + 1),
        "first": 0,
        "last": rows.num_rows - out,
    }
    lost = set(
        dice.sample(range(rows.num_rows), out)
        if where == "even"
        else range(begin[where], begin[where] + out)
    )
    left = rows.take(pa.array([at for at in range(rows.num_rows) if at not in lost], pa.int64()))
    for file in files:
        file.unlink()
    if left.num_rows:
        pq.write_table(left, files[0])
    counted = manifest["tables"][table]
    if kind != "counted":
        counted["kept"] -= out
    if kind == "announced":
        counted["lost"] += out


def remove(path: Path, table: str, manifest: dict[str, Any], *, itself: bool = True) -> None:
    """Removes a table, or only the sums of it, without a trace."""
    of_it = [name for name, one in tables().items() if one.sums == table]
    for name in [table] if itself else of_it:
        for file in (path / name).glob("*.parquet"):
            file.unlink()
        if name in manifest["tables"]:
            manifest["tables"][name]["kept"] = 0
