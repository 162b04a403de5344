"""Names of programs whose files are not where they were mapped from, or nowhere that the recorder sees."""

from pathlib import Path

import pytest

from machine import ask, filesystem, record, run
from test_stacks import SOURCE, SYNCED, WHOLE, _holds
from tests.stacks.too_large import make_too_large

pytestmark = pytest.mark.usefixtures("live")

#: What starts `paths` with a file, where it writes what its paths took, and what becomes of it then.
GONE = {
    "deleted": 'cp made paths; ./paths "$0" direct sums none 0 > said & until [ -e sums ]; do sleep 0.01; done; rm paths; wait',
    "replaced": (
        'cp made paths; ./paths "$0" direct sums none 0 > said & until [ -e sums ]; do sleep 0.01; done; '
        "rm paths; cp /bin/true paths; wait"
    ),
    # What is there for the recorder is another program.
    "in a mount namespace": (
        "mkdir own; cp /bin/true own/paths; "
        'unshare --mount sh -c "mount -t tmpfs none own; cp made own/paths; own/paths $0 direct sums none 0 > said"'
    ),
    "in another root": "root=${0%/*}; cp made $root/paths; chroot $root /paths /file direct /sums none 0 > said",
}


@pytest.mark.parametrize("where", GONE)
def test_a_program_has_its_names_wherever_its_file_is(where: str, tmp_path: Path) -> None:
    run("gcc", "-g", "-O2", "-static", "-pthread", "-o", str(tmp_path / "made"), str(SOURCE))
    with filesystem("ext4", tmp_path) as scratch:
        shell = ["sh", "-c", GONE[where], str(scratch.mount / "file")]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=tmp_path)
    said = [line.split() for line in (tmp_path / "said").read_text().splitlines()]
    _holds(recording, said, computes=False)
    ((build_ids,),) = ask(
        recording, "SELECT count(build_id) FROM modules WHERE path LIKE '%/paths'"
    )
    assert build_ids == 1


@pytest.mark.parametrize("what", ["symbols", "the table of sections"])
def test_a_program_whose_names_take_too_much_memory_has_stacks_without(
    what: str, tmp_path: Path
) -> None:
    run("gcc", "-O2", "-pthread", "-o", str(tmp_path / "paths"), str(SOURCE))
    make_too_large(tmp_path / "paths", what)
    with filesystem("ext4", tmp_path) as scratch:
        words = ["./paths", str(scratch.mount / "file"), "direct", "sums", "none", "0"]
        shell = ["sh", "-c", '"$0" "$@" > said', *words]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=tmp_path)
    ((whole, samples),) = ask(recording, WHOLE)
    assert samples > 100
    assert whole >= 0.95 * samples
    ((weight,),) = ask(recording, f"SELECT sum(weight_ns) FROM stack_samples s WHERE {SYNCED}")
    ((synced,),) = ask(recording, "SELECT sum(dur_ns) FROM syscalls WHERE name = 'fsync'")
    assert weight == pytest.approx(synced, rel=0.1)
    named = dict(
        ask(
            recording,
            "SELECT m.path, count(u.function) FROM user_stacks u JOIN modules m USING (module_id) GROUP BY m.path",
        )
    )
    has_names = {path.rpartition("/")[2]: number > 0 for path, number in named.items()}
    assert (has_names["paths"], has_names["libc.so.6"]) == (False, True)
    assert any("paths are missing" in note for note in recording.manifest.notes)
