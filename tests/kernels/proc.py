"""A kernel without type information (BTF), as those before 5.2 are: what is recorded there is what /proc tells."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import open_recording

from .check import Check, one

BYTES = 4 * 2**20


def script() -> str:
    """One program that writes, recorded as by itself."""
    return f"""
iowhy-record run -o /out/proc.iowhy -- \\
  iowhy-work seqwrite --file /mnt/write --bytes {BYTES} --block 64K --fsync > /out/proc.txt 2> /out/proc.err
echo $? > /out/proc.status
iowhy-record run --mode bpf -o /out/bpf.iowhy -- true 2> /out/bpf.err
"""


def checks(out: Path) -> Iterator[Check]:
    """The command's own bytes are there, and what there is not is said."""
    recording = open_recording(out / "proc.iowhy")
    yield Check("status of the command", (out / "proc.status").read_text().strip(), "0")
    written = one(recording, "SELECT max(write_call_bytes) FROM process_io")
    yield Check("bytes that the command wrote", BYTES <= written < BYTES + 2**20, True)
    calls = next(s for s in recording.manifest.sensors if s.name == "syscalls")
    yield Check("calls are recorded", calls.ran, False)
    for said in (calls.why or "", (out / "bpf.err").read_text()):
        yield Check("type information is said to be missing", "BTF" in said, True)
    yield Check("a recording by BPF is there", (out / "bpf.iowhy").exists(), False)
