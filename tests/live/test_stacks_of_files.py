"""Who uses a file: by calls, on a CPU too, and through its mapping."""

from pathlib import Path

import pytest

from iowhy.reports import Filters
from iowhy.reports import run as report
from machine import ask, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

SOURCE = Path(__file__).parent / "paths" / "files.c"
#: Of what the kernel does in a function's calls; a tick may come where it enters or leaves one.
IN_CALLS = 0.95


def test_the_functions_that_use_a_file_have_its_calls_and_its_faults(tmp_path: Path) -> None:
    program = tmp_path / "files"
    run("gcc", "-O2", "-fomit-frame-pointer", "-o", str(program), str(SOURCE))
    with filesystem("ext4", tmp_path) as scratch:
        called, mapped = scratch.mount / "called", scratch.mount / "mapped"
        called.write_bytes(bytes(16 << 20))
        mapped.write_bytes(bytes(64 << 20))
        run("sync", "-f", str(scratch.mount))
        recording = record([program, called, mapped], tmp_path / "r.iowhy", "--stacks")
    of_all, of_called, of_mapped = (
        {str(row["path"]).partition(" ← __libc")[0]: row for row in rows.to_pylist()}
        for rows in (
            report(recording, "callers", filters)
            for filters in (Filters(), Filters(file="*/called"), Filters(file="*/mapped"))
        )
    )
    for found, function in ((of_called, "read_by_calls"), (of_mapped, "touch_mapping")):
        assert all(path.endswith(f"{function} ← main") for path in found), list(found)
        assert all(row["user_ns"] == 0 for row in found.values())
    # What the kernel does in calls of a file is that file's, what the program does between them nobody's.
    reads = "pread ← read_by_calls ← main"
    assert of_called[reads]["kernel_ns"] >= IN_CALLS * of_all[reads]["kernel_ns"] > 0
    assert of_called[reads]["transferred_bytes"] == of_all[reads]["transferred_bytes"] > 0
    # Each of its waits is for a page of the file that is mapped.
    touched = "touch_mapping ← main"
    assert of_mapped[touched]["read_ns"] == of_all[touched]["read_ns"] > 0
    waits = "SELECT count(*) FROM stack_samples WHERE kind = 'wait' AND ino = ?"
    inode = ask(recording, "SELECT ino FROM files WHERE path LIKE '%/mapped'")
    assert ask(recording, waits, inode[0][0])[0][0] > 100
    assert recording.manifest.lost() == 0
