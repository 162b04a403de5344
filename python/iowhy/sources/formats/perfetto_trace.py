"""Perfetto traces (protobuf), for the ftrace events in them.

The messages are those of the package `perfetto` (protos/perfetto/trace in its repository); its trace
processor, a program that it would download, is not used. Scheduler events, nearly all of a trace, come packed
in arrays (CompactSched) and are taken as such; others are put in the words of their ftrace print format.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import pyarrow as pa

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import events, splitter
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "perfetto"
TOOL = "perfetto"

#: A packet is a page or a few of events; anything larger is damaged or hostile.
PACKET_MAX_BYTES = 64 * 1024 * 1024
#: What compressed packets may grow to in all.
UNPACKED_MAX_BYTES = 8 * 1024**3
BATCH_EVENTS = 100_000
_CHUNK = 1 << 20


def sniff_head(head: bytes) -> float | None:
    """Packets (field 1, length-delimited), whose own first field is one that TracePacket has."""
    try:
        found = 0
        at = 0
        while at < min(len(head), 65000) and found < 8:
            if head[at] != 0x0A:
                return None
            length, at = _varint(head, at + 1)
            if length == 0 or length > PACKET_MAX_BYTES or head[at] & 7 not in (0, 1, 2, 5):
                return None
            at += length
            found += 1
    except IndexError:
        return None
    return 0.9 if found >= 2 or (found and at == len(head)) else (0.6 if found else None)


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Into what the events tell, as for ftrace's text."""
    try:
        proto = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    except ImportError:
        raise Problem(
            f"{path}: a Perfetto trace needs the package perfetto; pip install 'iowhy[perfetto]', "
            "or export the trace as text with traceconv systrace"
        ) from None
    parsed = Parsed(TOOL, clock="boot", units="nanoseconds since boot")
    with space_for(path) as space:
        space.run("""CREATE TABLE events (n BIGINT, ts_ns BIGINT, tid BIGINT, comm VARCHAR, cpu BIGINT,
            name VARCHAR, args VARCHAR)""")
        space.run("""CREATE TABLE compact (n BIGINT, ts_ns BIGINT, cpu BIGINT, state BIGINT, pid BIGINT,
            comm VARCHAR, waking BOOLEAN)""")
        reader = _Reader(space, proto)
        try:
            with path.open("rb") as file:
                for packet in _packets(file, path, progress):
                    reader.take(packet, path)
        except OSError as error:
            raise Problem(f"{path}: {error.strerror or error}") from None
        reader.flush()
        _uncompact(space)
        if reader.lost:
            parsed.note("the tracer lost events: the kernel's buffer was full")
        with tempfile.TemporaryFile(prefix="iowhy-perfetto-") as file:
            _write(space, reader.tgids, file)
            split = splitter.from_file(
                "ftrace", file, str(path), parsed, lambda _done, _total: None
            )
        split.summary["others"].update(reader.others)
        events.finish(
            space, split, parsed, names, machine=str(reader.host.get("machine") or "aarch64")
        )
    if parsed.lines_understood:
        parsed.lines_understood = reader.packets
        parsed.host = {key: value for key, value in reader.host.items() if value}
    return parsed


def _write(space: Workspace, tgids: dict[int, int], file: IO[bytes]) -> None:
    """The events as ftrace's text, in the order of time."""
    space.put(
        "trees",
        pa.table(
            {
                "tid": pa.array(list(tgids), pa.int64()),
                "tgid": pa.array(list(tgids.values()), pa.int64()),
            }
        ),
    )
    reader = space.connection.sql("""SELECT printf('%s-%d (%s) [%03d] ..... %d.%09d: %s: %s\n',
            regexp_replace(comm, '[\x00-\x1f]', ' ', 'g'), tid, coalesce(tgid::VARCHAR, '-'), cpu,
            ts_ns // 1000000000, ts_ns % 1000000000, name, regexp_replace(args, '[\x00-\x1f]', ' ', 'g'))
        FROM (SELECT * FROM events LEFT JOIN trees USING (tid)
            WHERE tid >= 0 AND ts_ns BETWEEN 0 AND 999999999000000000 ORDER BY ts_ns, n)""").to_arrow_reader(
        65_536
    )
    for batch in reader:
        file.write("".join(batch.column(0).to_pylist()).encode("utf-8", errors="replace"))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError


def _packets(file: BinaryIO, path: Path, progress: Progress) -> Iterator[bytes]:
    """The packets of a file, one after the other, without having more than one in memory."""
    total = os.fstat(file.fileno()).st_size
    data = b""
    at = 0
    done = 0
    while True:
        if len(data) - at < 16:
            more = file.read(_CHUNK)
            data, at = data[at:] + more, 0
            done += len(more)
            progress(done, total)
            if not data:
                return
        start = done - (len(data) - at)
        try:
            if data[at] != 0x0A:
                raise IndexError
            length, at = _varint(data, at + 1)
        except IndexError:
            raise Problem(
                f"{path}: damaged at byte {start:,}: no packet of a Perfetto trace begins there"
            ) from None
        if length > PACKET_MAX_BYTES:
            raise Problem(f"{path}: damaged at byte {start:,}: a packet of {length:,} bytes")
        if len(data) - at < length:
            more = file.read(length - (len(data) - at) + _CHUNK)
            data, at = data[at:] + more, 0
            done += len(more)
            progress(done, total)
            if len(data) < length:
                return  # the end is cut off: what was whole has been read
        yield data[at : at + length]
        at += length


class _Reader:
    """Packets into the tables `events` and `compact`."""

    def __init__(self, space: Workspace, proto: Any) -> None:
        self.space = space
        self.proto = proto
        self.packets = 0
        self.lost = False
        self.tgids: dict[int, int] = {}
        self.host: dict[str, object] = {}
        self._n = 0
        self._unpacked = 0
        self._rows: list[tuple[int, int, int, int, str, str]] = []
        self.others: dict[str, int] = {}
        self._comms: dict[int, str] = {}

    def take(self, data: bytes, path: Path, depth: int = 0) -> None:
        """One TracePacket."""
        packet = self.proto.TracePacket()
        try:
            packet.ParseFromString(data)
        except Exception:  # upb raises DecodeError, a class that moved between versions of protobuf
            raise Problem(
                f"{path}: damaged: packet {self.packets + 1:,} cannot be decoded"
            ) from None
        self.packets += 1
        if packet.HasField("compressed_packets"):
            if depth:
                raise Problem(f"{path}: compressed packets inside compressed packets")
            for inner in self._unpack(packet.compressed_packets, path):
                self.take(inner, path, depth + 1)
        elif packet.HasField("ftrace_events"):
            self._bundle(packet.ftrace_events)
        elif packet.HasField("process_tree"):
            for process in packet.process_tree.processes:
                self.tgids[process.pid] = process.pid
            for thread in packet.process_tree.threads:
                self.tgids[thread.tid] = thread.tgid
        elif packet.HasField("system_info"):
            info = packet.system_info
            self.host = {
                "kernel": info.utsname.release, "machine": info.utsname.machine,
                "cpus": info.num_cpus or None, "page_bytes": info.page_size or None,
                "memory_bytes": info.system_ram_bytes or None,
            }  # fmt: skip

    def _unpack(self, data: bytes, path: Path) -> Iterator[bytes]:
        inflate = zlib.decompressobj()
        try:
            whole = inflate.decompress(data, PACKET_MAX_BYTES)
        except zlib.error:
            raise Problem(f"{path}: damaged: a compressed packet cannot be unpacked") from None
        self._unpacked += len(whole)
        if inflate.unconsumed_tail or self._unpacked > UNPACKED_MAX_BYTES:
            raise Problem(f"{path}: its compressed packets unpack to too much to be a trace")
        at = 0
        try:
            while at < len(whole):
                if whole[at] != 0x0A:
                    raise IndexError
                length, at = _varint(whole, at + 1)
                yield whole[at : at + length]
                at += length
        except IndexError:
            raise Problem(f"{path}: damaged: a compressed packet holds no packets") from None

    def _bundle(self, bundle: Any) -> None:
        self.lost = self.lost or bundle.lost_events
        cpu = bundle.cpu
        if bundle.HasField("compact_sched"):
            self._compact(bundle.compact_sched, cpu)
        for event in bundle.event:
            kind = event.WhichOneof("event")
            if kind is None:
                continue
            render = RENDER.get(kind)
            if render is None:
                self.others[kind] = self.others.get(kind, 0) + 1
                continue
            message = getattr(event, kind)
            comm = getattr(message, "comm", "") if kind.startswith("block_") else ""
            if kind == "sched_switch":
                self._comms[event.pid] = message.prev_comm
            self._n += 1
            self._rows.append((self._n, event.timestamp, event.pid, cpu, kind, render(message)))
            if comm:
                self._comms[event.pid] = comm
        if len(self._rows) >= BATCH_EVENTS:
            self.flush()

    def _compact(self, sched: Any, cpu: int) -> None:
        """Arrays of one CPU; times and interned names are told as differences and indices."""
        names = list(sched.intern_table)
        for waking, times, pids, comms in (
            (False, sched.switch_timestamp, sched.switch_next_pid, sched.switch_next_comm_index),
            (True, sched.waking_timestamp, sched.waking_pid, sched.waking_comm_index),
        ):
            if not len(times) == len(pids) == len(comms):
                continue
            first = self._n + 1
            self._n += len(times)
            states = list(sched.switch_prev_state) if not waking else [None] * len(times)
            if not times or len(states) != len(times):
                continue
            table = pa.table(
                {
                    "n": pa.array(range(first, self._n + 1), pa.int64()),
                    "gap": pa.array(list(times), pa.uint64()).cast(pa.int64(), safe=False),
                    "cpu": pa.array([cpu] * len(times), pa.int64()),
                    "state": pa.array(states, pa.int64()),
                    "pid": pa.array(list(pids), pa.int64()),
                    "name": pa.array(list(comms), pa.int64()),
                    "waking": pa.array([waking] * len(times), pa.bool_()),
                }
            )
            self.space.connection.register("incoming", table)
            self.space.connection.register(
                "interned",
                pa.table(
                    {
                        "name": pa.array(range(len(names)), pa.int64()),
                        "comm": pa.array(names, pa.string()),
                    }
                ),
            )
            self.space.run("""INSERT INTO compact SELECT n, sum(gap) OVER (ORDER BY n), cpu, state, pid,
                comm, waking FROM incoming LEFT JOIN interned USING (name)""")

    def flush(self) -> None:
        """Hand the events gathered so far to the database."""
        if self._rows:
            n, times, pids, cpus, names, args = zip(*self._rows, strict=True)
            table = pa.table(
                {
                    "n": pa.array(n, pa.int64()),
                    "ts_ns": pa.array([t & (1 << 63) - 1 for t in times], pa.int64()),
                    "tid": pa.array(pids, pa.int64()),
                    "comm": pa.array([self._comms.get(pid, "") for pid in pids], pa.string()),
                    "cpu": pa.array(cpus, pa.int64()),
                    "name": pa.array(names, pa.string()),
                    "args": pa.array(args, pa.string()),
                }
            )
            self.space.connection.register("incoming", table)
            self.space.run("INSERT INTO events SELECT * FROM incoming")
            self._rows.clear()


def _uncompact(space: Workspace) -> None:
    """Packed scheduler events in ftrace's words. Who left the CPU is who came before."""
    space.run("""INSERT INTO events
        SELECT n, ts_ns, pid, '', cpu, 'sched_waking', 'comm=' || coalesce(comm, '') || ' pid=' || pid
        FROM compact WHERE waking""")
    space.run("""INSERT INTO events
        SELECT n, ts_ns, prev, coalesce(prev_comm, ''), cpu, 'sched_switch',
            'prev_comm=' || coalesce(prev_comm, '') || ' prev_pid=' || prev || ' prev_prio=0 prev_state='
            || CASE WHEN state & 2 <> 0 THEN 'D' WHEN state & 1 <> 0 THEN 'S' WHEN state & 48 <> 0 THEN 'X'
                WHEN state & 204 <> 0 THEN 'T' ELSE 'R' END
            || ' ==> next_comm=' || coalesce(comm, '') || ' next_pid=' || pid || ' next_prio=0'
        FROM (SELECT *, lag(pid) OVER here AS prev, lag(comm) OVER here AS prev_comm
            FROM compact WHERE NOT waking WINDOW here AS (PARTITION BY cpu ORDER BY ts_ns, n))
        WHERE prev IS NOT NULL""")


# --- events in the words of their print formats ---------------------------------------------------


def _dev(number: int, sign: str = ",") -> str:
    """Perfetto tells devices as user space does (makedev)."""
    return f"{os.major(number)}{sign}{os.minor(number)}"


def _state(state: int) -> str:
    if state & 2:
        return "D"
    if state & 1:
        return "S"
    return "X" if state & 0x30 else "T" if state & 0xCC else "R"


def _switch(m: Any) -> str:
    return (
        f"prev_comm={m.prev_comm} prev_pid={m.prev_pid} prev_prio={m.prev_prio} "
        f"prev_state={_state(m.prev_state)} ==> next_comm={m.next_comm} next_pid={m.next_pid} "
        f"next_prio={m.next_prio}"
    )


def _wake(m: Any) -> str:
    return f"comm={m.comm} pid={m.pid} prio={m.prio} target_cpu={m.target_cpu:03d}"


def _sized(m: Any) -> str:
    return f"{_dev(m.dev)} {m.rwbs} {m.bytes} () {m.sector} + {m.nr_sector} [{m.comm}]"


def _bio(m: Any) -> str:
    return f"{_dev(m.dev)} {m.rwbs} {m.sector} + {m.nr_sector} [{m.comm}]"


def _done(m: Any) -> str:
    error = getattr(m, "errors", 0) or m.error
    return f"{_dev(m.dev)} {m.rwbs} () {m.sector} + {m.nr_sector} [{error}]"


def _page(m: Any) -> str:
    return f"dev {_dev(m.s_dev, ':')} ino {m.i_ino:x} pfn=0x{m.pfn:x} ofs={m.index << 12}"


RENDER: dict[str, Callable[[Any], str]] = {
    "sched_switch": _switch,
    "sched_waking": _wake,
    "sched_wakeup": _wake,
    "sched_wakeup_new": _wake,
    "sched_blocked_reason": lambda m: f"pid={m.pid} iowait={m.io_wait} caller=0x{m.caller:x}",
    "sched_process_exit": lambda m: f"comm={m.comm} pid={m.pid} prio={m.prio}",
    "sched_process_fork": lambda m: (
        f"comm={m.parent_comm} pid={m.parent_pid} child_comm={m.child_comm} child_pid={m.child_pid}"
    ),
    "sys_enter": lambda m: f"NR {m.id} ({', '.join(f'{arg & (1 << 64) - 1:x}' for arg in m.args)})",
    "sys_exit": lambda m: f"NR {m.id} = {m.ret}",
    "block_rq_issue": _sized,
    "block_rq_insert": _sized,
    "block_io_start": _sized,
    "block_rq_complete": _done,
    "block_rq_requeue": lambda m: (
        f"{_dev(m.dev)} {m.rwbs} () {m.sector} + {m.nr_sector} [{m.errors}]"
    ),
    "block_bio_queue": _bio,
    "block_getrq": _bio,
    "block_bio_complete": lambda m: (
        f"{_dev(m.dev)} {m.rwbs} {m.sector} + {m.nr_sector} [{m.error}]"
    ),
    "ext4_allocate_blocks": lambda m: (
        f"dev {_dev(m.dev)} ino {m.ino} flags {m.flags} len {m.len} block {m.block} lblk {m.logical} goal 0"
    ),
    "mm_filemap_add_to_page_cache": _page,
    "mm_filemap_delete_from_page_cache": _page,
}
