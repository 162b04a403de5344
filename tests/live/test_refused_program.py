"""A kernel whose verifier refuses one of the programs: that one is left out, the rest records, and what lacks it is named."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program
from machine import ask, python

pytestmark = pytest.mark.usefixtures("live")

#: What every verifier refuses: a register that holds nothing is read (R9 at the begin of a program).
READS_NOTHING = bytes((0x79, 0x90, 0, 0, 0, 0, 0, 0))  # r0 = *(u64 *)(r9 + 0)
_BPF, _FUNCTION = 247, 2  # EM_BPF, STT_FUNC: elf(5)


def spoiled(content: bytes, section: str) -> tuple[bytes, set[str]]:
    """The recorder with what begins each program of a section replaced, in the objects that it carries; the programs' names."""
    made, names, at = bytearray(content), set(), 0
    while (at := content.find(b"\x7fELF\x02\x01\x01", at + 1)) > 0:
        if int.from_bytes(content[at + 18 : at + 20], "little") != _BPF:
            continue
        table = int.from_bytes(content[at + 40 : at + 48], "little")
        count, strings = (int.from_bytes(content[at + i : at + i + 2], "little") for i in (60, 62))
        heads = [content[at + table + 64 * i :][:64] for i in range(count)]
        bodies = [tuple(int.from_bytes(h[i : i + 8], "little") for i in (24, 32)) for h in heads]

        def text(of: int, start: int) -> str:
            begin = at + bodies[of][0] + start  # noqa: B023
            return content[begin : content.index(b"\0", begin)].decode()

        called = [text(strings, int.from_bytes(head[:4], "little")) for head in heads]
        symbols = called.index(".symtab")
        begin, size = bodies[symbols]
        for entry in range(at + begin, at + begin + size, 24):
            name, info = int.from_bytes(content[entry : entry + 4], "little"), content[entry + 4]
            of = int.from_bytes(content[entry + 6 : entry + 8], "little")
            if info & 15 == _FUNCTION and of < count and called[of] == section:
                value = int.from_bytes(content[entry + 8 : entry + 16], "little")
                first = at + bodies[of][0] + value
                made[first : first + 8] = READS_NOTHING
                names.add(text(int.from_bytes(heads[symbols][40:44], "little"), name))
    return bytes(made), names


def recorded(tmp_path: Path, section: str) -> tuple[set[str], dict[str, Any], str]:
    """By a recorder whose programs of a section are refused: their names, the manifest, and what it said."""
    content, names = spoiled(program(RECORDER).read_bytes(), section)
    assert names
    recorder = tmp_path / "iowhy-record"
    recorder.write_bytes(content)
    recorder.chmod(0o755)
    code = "import os\nfor n in range(40):\n os.pread(os.open('/etc/passwd', 0), 5, 0)"
    words = [recorder, "run", "-o", tmp_path / "r.iowhy", "--", *python(code)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    return names, json.loads((tmp_path / "r.iowhy/manifest.json").read_text()), done.stderr


def test_one_refused_program_costs_its_sensor_alone_and_is_named(tmp_path: Path) -> None:
    names, manifest, said = recorded(tmp_path, "tp_btf/block_rq_complete")
    lacking = {one["name"] for one in manifest["sensors"] if "refuses" in (one.get("why") or "")}
    assert lacking == {"block_requests"} and manifest["source"] == "live"
    (note,) = [one for one in manifest["notes"] if "block_requests" in one]
    assert any(name in note for name in names) and note in said
    counted = "SELECT count(*), sum(ret) FROM syscalls WHERE name = 'pread64' AND ret = 5"
    assert ask(open_recording(tmp_path / "r.iowhy"), counted) == [(40, 200)]


def test_without_one_that_all_need_it_says_that_it_reads_proc_alone(tmp_path: Path) -> None:
    names, manifest, said = recorded(tmp_path, "tp_btf/sched_switch")
    assert manifest["source"] == "proc" and manifest["complete"]
    (note,) = manifest["notes"]
    assert any(name in note for name in names) and note in said
