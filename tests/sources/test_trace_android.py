"""Perfetto and systrace files, and what somebody may hide in them."""

import base64
import gzip
import importlib
import json
import zlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import costly
from tests.problems import wrong
from tests.sources.trace_reading import FIXTURES, query, read_file, rows

proto = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def perfetto(tmp_path: Path, packets: list, compress: bool = False) -> Path:
    trace = proto.Trace()
    for packet in packets:
        trace.packet.append(packet)
    data = trace.SerializeToString()
    if compress:
        outer = proto.Trace()
        outer.packet.add().compressed_packets = zlib.compress(data)
        data = outer.SerializeToString()
    path = tmp_path / "trace.perfetto-trace"
    path.write_bytes(data)
    return path


def bundle(cpu: int = 0):
    packet = proto.TracePacket()
    packet.ftrace_events.cpu = cpu
    return packet, packet.ftrace_events


def test_perfetto(tmp_path: Path) -> None:
    packet, events = bundle()

    def event(ns: int, tid: int, kind: str, **fields: object) -> None:
        one = events.event.add()
        one.timestamp, one.pid = ns, tid
        getattr(one, kind).SetInParent()
        for name, value in fields.items():
            message = getattr(one, kind)
            if isinstance(value, list):
                getattr(message, name).extend(value)
            else:
                setattr(message, name, value)

    event(1000, 7, "sys_enter", id=82, args=[3, 0, 0])
    event(
        2000,
        7,
        "block_rq_issue",
        dev=(8 << 8),
        sector=64,
        nr_sector=8,
        bytes=4096,
        rwbs="WS",
        comm="sqlite",
    )
    event(
        3000,
        7,
        "sched_switch",
        prev_comm="sqlite",
        prev_pid=7,
        prev_state=2,
        next_comm="swapper",
        next_pid=0,
    )
    event(9000, 0, "block_rq_complete", dev=(8 << 8), sector=64, nr_sector=8, rwbs="WS")
    event(9500, 0, "sched_waking", comm="sqlite", pid=7)
    event(9600, 0, "sched_blocked_reason", pid=7, io_wait=1, caller=0xABC)
    event(
        10_000, 0, "sched_switch", prev_comm="swapper", prev_pid=0, next_comm="sqlite", next_pid=7
    )
    event(11_000, 7, "sys_exit", id=82, ret=0)
    event(12_000, 7, "cpu_idle", state=1)
    tree = proto.TracePacket()
    tree.process_tree.threads.add(tid=7, tgid=5)
    info = proto.TracePacket()
    info.system_info.utsname.machine = "aarch64"
    info.system_info.num_cpus = 8
    for compress in (False, True):
        parsed = read_file("perfetto_trace", perfetto(tmp_path, [info, packet, tree], compress))
        (call,) = rows(parsed, "syscalls")
        assert (call["name"], call["fd"], call["tgid"], call["dur_ns"]) == ("fsync", 3, 5, 10_000)
        assert (call["blocked_ns"], call["runnable_ns"], call["cpu_ns"]) == (6500, 500, 3000)
        (request,) = rows(parsed, "block_requests")
        assert (request["dev"], request["bytes"], request["complete_ns"]) == (8 << 20, 4096, 9000)
        (wait,) = rows(parsed, "waits")
        assert wait["io"] is True and wait["syscall"] == "fsync"
        assert parsed.host["cpus"] == 8 and any("cpu_idle" in note for note in parsed.notes)


@costly(4)
@given(
    st.lists(
        st.tuples(st.integers(1, 10**7), st.integers(1, 5), st.sampled_from([0, 1, 2])),
        min_size=3,
        max_size=40,
    )
)
def test_packed_scheduler_events_are_read_back(tmp_path_factory, steps: list) -> None:
    packet, events = bundle(1)
    sched = events.compact_sched
    sched.intern_table.extend(["", *(f"app{n}" for n in range(1, 6))])
    at, running, first, ran = 5_000_000, None, 0, {}
    for gap, step, state in steps:
        pid = (step if running is None else running + step) % 6  # never the same twice
        if pid == 0:
            pid = running % 5 + 1 if running else 1
        sched.switch_timestamp.append(gap if running is not None else at + gap)
        sched.switch_next_pid.append(pid)
        sched.switch_next_comm_index.append(pid)
        sched.switch_prev_state.append(state)
        sched.switch_next_prio.append(120)
        if running is not None:
            ran[running] = ran.get(running, 0) + gap
        at += gap
        running = pid
    path = perfetto(tmp_path_factory.mktemp("trace"), [packet, proto.TracePacket(timestamp=1)])
    parsed = read_file("perfetto_trace", path)
    found = query(
        parsed,
        """SELECT tid, sum(interval_ns - coalesce(runnable_ns, 0) - coalesce(blocked_ns, 0)
        - coalesce(sleeping_ns, 0)) FROM thread_time GROUP BY tid""",
    )
    # Who runs first is known from the second switch on.
    first = sched.switch_next_pid[0]
    assert {t: int(x) for t, x in found if t != first} == {
        t: x for t, x in ran.items() if t != first
    } or set(ran) == {first}


def test_damaged_perfetto_files(tmp_path: Path) -> None:
    packet, events = bundle()
    one = events.event.add()
    one.timestamp = 1
    one.sched_waking.pid = 2
    good = perfetto(tmp_path, [packet] * 50).read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(good[:-3])
    assert read_file("perfetto_trace", cut).lines_understood == 49
    for name, data in {
        "garbage": good + b"\xff\xff\xff" * 100,
        "huge": good + b"\x0a\xff\xff\xff\xff\x7f" + bytes(100),
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        with wrong("log-damaged", path=path) as found:
            read_file("perfetto_trace", path)
        assert "damaged at byte" in str(found.value.sentence.values["value"])
    bomb = proto.Trace()
    bomb.packet.add().compressed_packets = zlib.compress(bytes(100 << 20))
    bomb.packet.add()
    path = tmp_path / "bomb"
    path.write_bytes(bomb.SerializeToString())
    with wrong("log-damaged", path=path) as found:
        read_file("perfetto_trace", path)
    assert "unpack to too much" in str(found.value.sentence.values["value"])


FTRACE = (FIXTURES / "ftrace.txt").read_text()


def page(body: str) -> bytes:
    return f"<!DOCTYPE html>\n<html><head><title>Android System Trace</title></head><body>{body}</body></html>".encode()


def test_systrace_pages_of_all_ages(tmp_path: Path) -> None:
    viewer = base64.b64encode(
        gzip.compress(json.dumps({"systemTraceEvents": FTRACE, "traceEvents": []}).encode())
    )
    quoted = FTRACE.replace('"', '\\"').replace("\n", "\\n\\\n")
    old = f'<script>\n  var linuxPerfData = "{quoted}";\n</script>'
    pages = {
        "text": '<script class="trace-data" type="application/text">{"a": 1}</script>'
        f'<script class="trace-data" type="application/text">\n{FTRACE}</script>',
        "viewer": f'<script id="viewer-data" type="application/json">\n{viewer.decode()}</script>',
        "old": old,
    }
    files = {name: page(body) for name, body in pages.items()}
    files["atrace-z"] = b"capturing trace... done\nTRACE:\n" + zlib.compress(FTRACE.encode())
    for name, data in files.items():
        path = tmp_path / f"{name}.html"
        path.write_bytes(data)
        parsed = read_file("systrace", path)
        found = query(
            parsed,
            "SELECT count(*) FROM syscalls WHERE name = 'write' AND bytes = 16384 AND ret = bytes",
        )
        assert found == [(8,)], name
        assert parsed.tool == "systrace"


def test_bombs_and_empty_pages(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("iowhy.sources.formats.systrace.UNPACKED_MAX_BYTES", 4 << 20)
    monkeypatch.setattr("iowhy.sources.formats.systrace.JSON_MAX_BYTES", 4 << 20)
    zeros = base64.b64encode(gzip.compress(bytes(64 << 20))).decode()
    for name, data, id_ in (
        (
            "bomb.html",
            page(f'<script id="viewer-data">{zeros}</script>'),
            "page-trace-too-large",
        ),
        ("bomb.z", b"TRACE:\n" + zlib.compress(bytes(64 << 20)), "page-trace-too-large"),
        (
            "base64.html",
            page('<script id="viewer-data">@@@@@@@@</script>'),
            "page-trace-not-base64",
        ),
        (
            "zip.html",
            page('<script id="viewer-data">QUJDREVGR0g=</script>'),
            "page-trace-not-unpackable",
        ),
        (
            "json.html",
            page(
                f'<script id="viewer-data">{base64.b64encode(gzip.compress(b"[[[")).decode()}</script>'
            ),
            "page-trace-not-json",
        ),
        ("none.html", page("<p>hello</p>"), "page-without-trace"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with wrong(id_, path=path):
            read_file("systrace", path)
