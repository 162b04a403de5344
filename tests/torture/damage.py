"""One recording damaged in one or more ways, all decided by a seed."""

import copy
import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.torture.bases import NUMBERS, TEXTS

Dice = random.Random
ODD_JSON: tuple[object, ...] = (
    None, True, -1, 0, 2**63, 10**400, 1e308, "", "x" * 10_000, "\x1b[2J", [], {}, [[]], {"": None}, "\ud800",
)  # fmt: skip


def bytes_of(data: bytes, dice: Dice) -> bytes:
    """Bytes flipped, cut, doubled, zeroed, moved, or made into numbers that lie about lengths."""
    changed = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 8, 64])):
        if not changed:
            break
        at = dice.randrange(len(changed))
        # The footer of a Parquet file, its last bytes, decides how all else is read.
        if dice.random() < 0.5:
            at = max(0, len(changed) - 1 - dice.randrange(min(len(changed), 4096)))
        end = min(len(changed), at + dice.choice([1, 4, 8, 100, 4096]))
        match dice.randrange(6):
            case 0:
                changed[at] ^= 1 << dice.randrange(8)
            case 1:
                del changed[at:end]
            case 2:
                changed[at:at] = changed[at:end]
            case 3:
                changed[at:end] = bytes(end - at)
            case 4:
                changed[at:end] = b"\xff" * (end - at)
            case _:
                changed[at:end] = dice.randbytes(end - at)
    return bytes(changed)


def in_json(path: Path, dice: Dice) -> None:
    """Bytes of a JSON file, or some of its values, keys and lists."""
    data = path.read_bytes()
    if dice.random() < 0.4:
        path.write_bytes(bytes_of(data, dice))
        return
    try:
        whole = json.loads(data)
    except ValueError:  # damaged already
        return
    for _ in range(dice.choice([1, 1, 3])):
        at, key = _somewhere(whole, dice)
        if at is None:
            break
        match dice.randrange(4):
            case 0 if isinstance(at, dict):
                del at[key]
            case 1 if isinstance(at, dict):
                at[dice.choice(["", "x", "\x1b[31m", "a" * 1000])] = _odd(dice)
            case 2 if isinstance(at[key], list):
                at[key] = at[key] * dice.choice([2, 1000])
            case _:
                at[key] = _odd(dice)
    path.write_text(json.dumps(whole), encoding="utf-8", errors="surrogatepass")


def _odd(dice: Dice) -> object:
    """One of its own: what is put into a list of another mutant would be in this one, or in itself."""
    return copy.deepcopy(dice.choice(ODD_JSON))


def _somewhere(value: object, dice: Dice) -> tuple[object, object]:
    """A container in `value` and one of its keys; None for an empty one."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))  # type: ignore[arg-type]
        if not keys:
            return None, None
        key = dice.choice(keys)
        inside = value[key]  # type: ignore[index]
        if not isinstance(inside, dict | list) or not inside or dice.random() < 0.2:
            return value, key
        value = inside


def of_values(path: Path, dice: Dice) -> None:
    """Values of a table: extremes, NULLs, other types, columns that are gone, twice there or named otherwise, rows repeated."""
    try:
        table = pq.read_table(path)
    except Exception:  # damaged already
        return
    for _ in range(dice.choice([1, 2, 5])):
        at = dice.randrange(max(1, table.num_columns))
        if table.num_columns == 0:
            break
        name, column = table.column_names[at], table.column(at).to_pylist()
        match dice.randrange(8):
            case 0 | 1 | 2:
                table = _with(table, at, name, _extremes(column, table.schema.types[at], dice))
            case 3:
                table = table.remove_column(at)
            case 4:
                table = table.append_column(name, table.column(at))
            case 5:
                table = table.set_column(at, dice.choice(["", "x\x1b[2J", "row_number", "*"]), table.column(at))  # fmt: skip
            case 6:
                other = dice.choice([pa.string(), pa.float64(), pa.list_(pa.int64()), pa.bool_(), pa.int32(), pa.null()])  # fmt: skip
                table = _with(table, at, name, pa.nulls(len(column), other))
            case _:
                if table.num_rows < 10_000:
                    table = pa.concat_tables([table] * dice.choice([0, 2, 30]) or [table.slice(0, 0)])  # fmt: skip
    pq.write_table(table, path, compression=dice.choice(["zstd", "none", "snappy"]))


def _with(table: pa.Table, at: int, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(at, name, column)


def _extremes(column: list[object], kind: pa.DataType, dice: Dice) -> pa.Array:
    """Some values, or all, are ones that nothing was measured with."""
    share = dice.choice([0.02, 0.5, 1.0])
    odd: tuple[object, ...] = (None,)
    if pa.types.is_integer(kind):
        odd = (*NUMBERS, None)
    elif pa.types.is_string(kind):
        odd = (*TEXTS, None)
    elif pa.types.is_floating(kind):
        odd = (float("nan"), float("inf"), -1e308, 0.0, None)
    one = dice.choice(odd)
    odds = [dice.choice([one, dice.choice(odd)]) if dice.random() < share else v for v in column]
    try:
        return pa.array(odds, kind)
    except (pa.ArrowInvalid, OverflowError):  # a column that was made a narrower one before
        return pa.nulls(len(column), kind)


def of_bytes(path: Path, dice: Dice) -> None:
    """Bytes of a file."""
    path.write_bytes(bytes_of(path.read_bytes(), dice))


def swapped(path: Path, dice: Dice) -> None:
    """Another table's file in its place."""
    others = sorted(p for p in path.parent.parent.glob("*/*.parquet") if _small(p))
    other = dice.choice(others)
    data = other.read_bytes()
    other.write_bytes(path.read_bytes())
    path.write_bytes(data)


def replaced(path: Path, dice: Dice) -> None:
    """No plain file any more."""
    path.unlink()
    match dice.randrange(7):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case 2:
            path.symlink_to(dice.choice(["/dev/zero", "/etc/passwd", path.name, "/proc/self/mem"]))
        case 3:
            _socket(path)
        case 4:
            path.touch()
        case 5:
            with path.open("wb") as file:
                file.truncate(1 << 40)  # a hole: no space is taken
        case _:
            pass  # gone


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def renamed(path: Path, dice: Dice) -> None:
    """Under a name that no recorder gives."""
    name = dice.choice([b"\xff.parquet", b"*.parquet", b"'.parquet", b"\x1b[2J.parquet", b"[a].parquet", b"000001.json", b"\n.parquet"])  # fmt: skip
    os.rename(path, os.fsencode(path.parent) + b"/" + name)  # noqa: PTH104


def folder_replaced(path: Path, dice: Dice) -> None:
    """The folder of a table is a link, a file, or another table's."""
    folder = path.parent
    if folder.name.endswith(".iowhy"):
        return
    if dice.random() < 0.4:
        names = [one.name for one in folder.parent.iterdir() if one.is_dir() and one != folder]
        target = folder.parent / dice.choice(names or ["nothing"])
        if target.is_dir():
            target.rename(folder.parent / "kept")
            folder.rename(target)
            (folder.parent / "kept").rename(folder)
        return
    shutil.rmtree(folder)
    if dice.random() < 0.5:
        folder.symlink_to(dice.choice(["/etc", "/proc/self/fd", ".", folder.name]))
    else:
        folder.write_text("x")


KINDS: dict[str, Callable[[Path, Dice], None]] = {
    "bytes": of_bytes,
    "values": of_values,
    "swapped": swapped,
    "replaced": replaced,
    "renamed": renamed,
    "folder": folder_replaced,
}


def _small(path: Path) -> bool:
    """Whether it is a file that can be changed as a whole, and no link, pipe or hole that was put there before."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 30


def damage(recording: Path, seed: int) -> list[str]:
    """Damages the recording; the kinds of damage that were done."""
    dice = random.Random(seed)
    done = []
    for _ in range(dice.choice([1, 1, 2, 4])):
        jsons = sorted(p for p in recording.glob("**/*.json") if _small(p))
        parquets = sorted(p for p in recording.glob("*/*.parquet") if _small(p))
        if jsons and (dice.random() < 0.3 or not parquets):
            path = dice.choice(jsons)
            kind = "replaced" if dice.random() < 0.1 else "json"
            (replaced if kind == "replaced" else in_json)(path, dice)
            done.append(f"{path.name} {kind}")
        elif parquets:
            path = dice.choice(parquets)
            kind = dice.choice(["bytes", "bytes", "values", "values", "values", *KINDS])
            KINDS[kind](path, dice)
            done.append(f"{path.parent.name} {kind}")
    return done
