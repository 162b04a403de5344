"""The data that Rust and Python are both built from: each entry is whole and names what there is."""

import re
from pathlib import Path

import pytest

from iowhy.recordings import schema
from iowhy.tables import call_numbers, calls, reasons, rules, sensors

ROOT = Path(__file__).parents[2]
KINDS = {None, "read", "write", "copy", "sync", "lookup", "change", "collect", "idle"}
TREATMENTS = {
    "read",
    "write",
    "sync",
    "open",
    "name",
    "link",
    "remove",
    "ahead",
    "memory",
    "ring",
    "other",
}


def test_sensors_fill_tables_and_their_programs_are_in_bpf() -> None:
    source = "".join(path.read_text() for path in (ROOT / "recorder" / "bpf").glob("**/*.h"))
    programs = set(re.findall(r"^SEC\(.*\)\nint (?:BPF_PROG\()?(\w+)", source, re.MULTILINE))
    for sensor in sensors().values():
        assert set(sensor.tables) <= set(schema.tables()), sensor.name
        assert sensor.sources <= {"live", "proc", "diagnose"} and "live" in sensor.sources
        needed = {*sensor.programs, *(p for part in sensor.parts for p in part.programs)}
        assert needed <= programs, sensor.name
        assert sensor.backend == "programs" or not needed, sensor.name


def test_a_pasted_table_stands_for_one_sensor() -> None:
    stands = [name for sensor in sensors().values() for name in sensor.substitute_tables]
    assert len(stands) == len(set(stands))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_are_in_the_kernels_table_and_have_the_arguments_they_name(machine: str) -> None:
    numbered = set(call_numbers(machine).values())
    for call in calls().values():
        assert call.kind in KINDS and (call.record is None or call.record in TREATMENTS), call.name
        # What the older architecture has and the newer never had (open, stat, unlink, …) is missing there.
        if machine == "x86_64" and call.record is not None and call.same_as is None:
            assert call.name in numbered
        for place in (call.fd, call.bytes, call.offset):
            assert place is None or place < (call.arguments or place + 1), call.name
        for place in (call.bytes, call.offset):
            assert place is None or call.arguments is not None, call.name
        assert not call.moves_data or call.kind in {"read", "write"}, call.name
        assert call.offset_in is None or call.offset_in in {"position", "pointer"}
        assert (call.offset_in == "pointer") <= (call.offset is not None), call.name


def test_another_name_is_treated_as_the_call() -> None:
    assert calls()["pread"].offset == calls()["pread64"].offset == 3
    assert calls()["sendfile64"].direction == "read"


def test_every_reason_has_a_rule_and_every_rule_a_reason() -> None:
    # What no rule matches is `other`, which is in no table, or a sleep that a signal may end.
    assert {rule.reason for rule in rules()} | {"interruptible_sleep"} == set(reasons())
