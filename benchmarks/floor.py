"""The least that a recorder at these tracepoints can cost: programs there that return at once.

python -m benchmarks.floor CMD…    runs CMD while such programs are attached, as root
"""

import ctypes
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from iowhy.sources.live import RECORDER, program

SOURCES = Path(__file__).parents[1] / "recorder" / "bpf"
_PROGRAM = re.compile(r'^SEC\("tp_btf/(\w+)"\)\nint BPF_PROG\((\w+)', re.MULTILINE)
_BPF = {"x86_64": 321, "aarch64": 280}  # number of bpf(2)
# include/uapi/linux/bpf.h
_PROG_LOAD = 5
_RAW_TRACEPOINT_OPEN = 17
_RAW_TRACEPOINT = 17  # BPF_PROG_TYPE_RAW_TRACEPOINT
_RETURN_0 = bytes.fromhex("b700000000000000 9500000000000000")  # r0 = 0; exit


def tracepoints() -> list[str]:
    """Where the recorder's programs stand on this machine."""
    with tempfile.TemporaryDirectory(prefix="iowhy-floor.") as folder:
        stats = Path(folder) / "programs.json"
        recorder = [
            program(RECORDER),
            "run",
            "-o",
            f"{folder}/true.iowhy",
            "--program-stats",
            stats,
        ]
        subprocess.run([*recorder, "--", "true"], check=True)
        loaded = {row["name"] for row in json.loads(stats.read_text())}
    programs = (_PROGRAM.findall(header.read_text()) for header in SOURCES.glob("*.h"))
    return sorted({at for found in programs for at, name in found if name in loaded})


@contextmanager
def attached() -> Iterator[None]:
    """Programs that return at once stand at the recorder's tracepoints. Raises OSError where they may not stand there."""
    held = []
    try:
        for name in tracepoints():
            code, licence = (
                ctypes.create_string_buffer(_RETURN_0),
                ctypes.create_string_buffer(b"GPL"),
            )
            instructions = len(_RETURN_0) // 8
            places = ctypes.addressof(code), ctypes.addressof(licence)
            held.append(
                _bpf(_PROG_LOAD, struct.pack("=IIQQ", _RAW_TRACEPOINT, instructions, *places))
            )
            named = ctypes.create_string_buffer(name.encode())
            held.append(
                _bpf(
                    _RAW_TRACEPOINT_OPEN, struct.pack("=QII", ctypes.addressof(named), held[-1], 0)
                )
            )
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)


def _bpf(command: int, attributes: bytes) -> int:
    """bpf(2) with these attributes; gives the descriptor that it makes."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.syscall(_BPF[platform.machine()], command, attributes, len(attributes))
    if made < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return int(made)


def main(command: Sequence[str]) -> int:
    """Run a command with the programs attached; gives its exit status."""
    with attached():
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
