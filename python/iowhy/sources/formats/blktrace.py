"""Binary files of `blktrace` (DEVICE.blktrace.CPU, or blkparse -d's dump).

Layout: struct blk_io_trace, include/uapi/linux/blktrace_api.h: magic 0x65617407 (upper 24 bits) and version, then
sequence, time (ns), sector, bytes, action, pid, device, cpu, error, length of the payload that follows.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Progress, as_word
from iowhy.sources.formats import blkparse
from iowhy.sources.names import Names
from iowhy.sources.tracing import block as requests
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "blktrace"

MAGIC = 0x65617400
VERSION = 0x07
HEADER_BYTES = 48
CHUNK_BYTES = 8 * 1024 * 1024

#: Low 16 bits of the action (enum blktrace_act) → what happened; plugs, merges and remaps are left out.
ACTS = {1: "queue", 4: "queue", 6: "requeue", 7: "issue", 8: "complete", 12: "insert"}
#: Category bits (upper 16 bits of the action, enum blktrace_cat).
READ, WRITE, FLUSH, SYNC = 1, 2, 4, 8
FS, PC, NOTIFY, AHEAD, META, DISCARD = 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13
DRV_DATA, FUA = 1 << 14, 1 << 15


def _record(order: str) -> np.dtype:
    return np.dtype(
        [
            ("magic", order + "u4"), ("sequence", order + "u4"), ("time", order + "u8"),
            ("sector", order + "u8"), ("bytes", order + "u4"), ("action", order + "u4"),
            ("pid", order + "u4"), ("device", order + "u4"), ("cpu", order + "u4"),
            ("error", order + "u2"), ("pdu_len", order + "u2"),
        ]
    )  # fmt: skip


def _order(head: bytes) -> str | None:
    """Byte order of the machine that traced: "<" or ">"."""
    for order, name in (("<", "little"), (">", "big")):
        magic = int.from_bytes(head[:4], name)  # type: ignore[arg-type]
        if magic & 0xFFFFFF00 == MAGIC:
            return order
    return None


def sniff_head(head: bytes) -> float | None:
    """The magic number."""
    return 0.99 if len(head) >= HEADER_BYTES and _order(head) else None


def stream(path: Path, names: Names, progress: Progress) -> Parsed:  # noqa: ARG001
    """Into block_requests, and threads by the process names that blktrace notes.

    blktrace writes one file per CPU, and a request is often completed on another one: the first file of a
    set means all of them.
    """
    parsed = Parsed(NAME, units="nanoseconds since the trace began, bytes")
    files = _set(path)
    if path != files[0]:
        parsed.lines_understood = 1
        parsed.note(f"{path.name} is read together with {files[0].name}, the first CPU's file")
        parsed.missing.append(f"iowhy diagnose {as_word(files[0].name)}")
        return parsed
    comms: dict[int, str] = {}
    total = sum(file.stat().st_size for file in files)
    with space_for(path) as space:
        space.run(f"CREATE TABLE block_events ({requests.COLUMNS})")
        done = 0
        for file in files:
            done = _read(space, parsed, file, comms, lambda done: progress(done, total), done)
        known = {pid: comm for pid, comm in comms.items() if comm}
        if known:
            comm = np.array(list(known.values()), object)
            space.put("comms", {"tid": np.array(list(known), np.int64), "comm": comm})
            space.run("""UPDATE block_events SET comm = comms.comm FROM comms
            WHERE comms.tid = block_events.tid""")
        if not space.count("block_events"):
            parsed.lines_understood = 0
            return parsed
        blkparse.finish(space, parsed)
    return parsed


def _set(path: Path) -> list[Path]:
    """The files of all CPUs of the same trace, by number; `path` alone if it is no such file."""
    stem, dot, cpu = path.name.rpartition(".")
    if not dot or not cpu.isdecimal() or not stem.endswith(".blktrace"):
        return [path]
    found = [
        other
        for other in path.parent.iterdir()
        if other.name.startswith(stem + ".") and other.name[len(stem) + 1 :].isdecimal()
    ]
    return sorted(found, key=lambda other: int(other.name.rpartition(".")[2]))


def _read(
    space: Workspace,
    parsed: Parsed,
    path: Path,
    comms: dict[int, str],
    progress: Callable[[int], None],
    done: int,
) -> int:
    """Put a file's events into `block_events`; returns `done` and its bytes."""
    rest = b""
    base = done
    order: str | None = None
    try:
        with path.open("rb") as file:
            while data := file.read(CHUNK_BYTES):
                done += len(data)
                data = rest + data
                order = order or _order(data)
                if order is None:
                    raise Problem("not-blktrace", path=path)
                starts, used = _starts(data, order, str(path), done - base - len(data))
                _take(space, data, starts, order, parsed.lines_understood, comms)
                parsed.lines_understood += len(starts)
                rest = data[used:]
                progress(done)
    except OSError as error:
        raise Problem("path-error", path=path, error=error.strerror or error) from None
    if rest:
        parsed.note(f"{path.name} ends inside a record: its last {len(rest)} bytes are left out")
    return done


def _starts(data: bytes, order: str, where: str, base: int) -> tuple[list[int], int]:
    """Offsets of the whole records in `data`, and where the first one that is not whole begins.

    Payloads make records of different lengths, so that each is known from the one before; runs without a
    payload, nearly all of a trace, are taken by numpy at once.
    """
    record = _record(order)
    starts: list[int] = []
    at = 0
    while at + HEADER_BYTES <= len(data):
        run = np.frombuffer(data, record, (len(data) - at) // HEADER_BYTES, at)
        plain = (run["pdu_len"] == 0) & (run["magic"] == MAGIC | VERSION)
        stop = int(np.argmin(plain)) if not plain.all() else len(run)
        starts += range(at, at + stop * HEADER_BYTES, HEADER_BYTES)
        at += stop * HEADER_BYTES
        if at + HEADER_BYTES > len(data):
            break
        one = np.frombuffer(data, record, 1, at)[0]
        if int(one["magic"]) & 0xFFFFFF00 != MAGIC:
            raise Problem("blktrace-damaged", where=where, base=base + at)
        if int(one["magic"]) & 0xFF != VERSION:
            raise Problem("blktrace-version-unknown", where=where, one=int(one["magic"]) & 0xFF)
        end = at + HEADER_BYTES + int(one["pdu_len"])
        if end > len(data):
            break
        starts.append(at)
        at = end
    return starts, at


def _take(
    space: Workspace, data: bytes, starts: list[int], order: str, n: int, comms: dict[int, str]
) -> None:
    if not starts:
        return
    offsets = np.asarray(starts, dtype=np.int64)
    flat = np.frombuffer(data, dtype=np.uint8)
    rows = flat[offsets[:, None] + np.arange(HEADER_BYTES)].reshape(-1).view(_record(order))
    category = rows["action"] >> 16
    for index in np.flatnonzero((category & NOTIFY) != 0):
        # BLK_TN_PROCESS: the payload is the name of the process.
        start = int(offsets[index]) + HEADER_BYTES
        name = data[start : start + int(rows["pdu_len"][index])].split(b"\0")[0]
        if int(rows["action"][index]) & 0xFFFF == 0 and len(comms) < 1_000_000:
            comms[int(rows["pid"][index])] = name[:16].decode("utf-8", errors="replace")
    kinds = np.full(1 << 16, "", dtype=object)
    for act, kind in ACTS.items():
        kinds[act] = kind
    plain = (category & (NOTIFY | DRV_DATA)) == 0
    rows, category = rows[plain], category[plain]
    events = {
        "n": np.arange(n, n + len(rows)),
        "ts_ns": rows["time"].astype(np.int64),
        "tid": rows["pid"].astype(np.int64),
        "comm": np.full(len(rows), "", object),
        "kind": kinds[rows["action"] & 0xFFFF],
        "dev": rows["device"].astype(np.int64),
        "rwbs": _letters(category).astype(object),
        "bytes": rows["bytes"].astype(np.int64),
        "sector": rows["sector"].astype(np.int64),
        "error": rows["error"].astype(np.int64),
    }
    space.connection.register("incoming", events)
    space.run("INSERT INTO block_events SELECT * FROM incoming WHERE kind <> ''")
    space.connection.unregister("incoming")


def _letters(category: np.ndarray) -> np.ndarray:
    """rwbs as blkparse prints it (fill_rwbs in blkparse_fmt.c)."""
    operation = np.select(
        [(category & DISCARD) != 0, (category & WRITE) != 0, (category & READ) != 0],
        ["D", "W", "R"],
        "N",
    )
    parts = [
        np.where(category & FLUSH, "F", ""),
        operation,
        np.where(category & FUA, "F", ""),
        np.where(category & AHEAD, "A", ""),
        np.where(category & SYNC, "S", ""),
        np.where(category & META, "M", ""),
    ]
    letters = parts[0]
    for part in parts[1:]:
        letters = np.char.add(letters, part)
    return letters
