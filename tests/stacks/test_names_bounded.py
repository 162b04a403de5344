"""A file made to take all memory of who reads its names costs its own names, and a known amount of memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from iowhy.sources.live import RECORDER, program
from tests.stacks.too_large import MIB, TOO_LARGE, make_too_large

SOURCE = """
__attribute__((noinline)) int leaf(int x) { volatile int y = x; return y; }
int main(int n, char **v) { (void)v; return leaf(n); }
"""
#: The address space of the process that reads names (symbols/src/room.rs): it cannot hold more than that in memory.
MOST_BYTES = 768 * MIB
#: Runs a command, and says what the largest of its processes held. A process counts what the one held that it was forked from: this is a
#: small one.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(done.returncode)
"""
SMALL, LARGE = 1, 2
#: What is known of the function all the same: by its lines where symbols are too large, by its symbol where lines are. Without
#: a table of sections there is nothing to read.
LEFT = {
    "symbols": ("leaf", 2),
    "symbols and their names, each of which would do": ("leaf", 2),
    "lines": ("leaf", None),
    "lines, by what is made of them": ("leaf", None),
    "the table of sections": None,
}
ID = "00112233445566778899aabbccddeeff00112233"


def made(path: Path) -> tuple[Path, int]:
    """A program, and where its function is."""
    path.with_suffix(".c").write_text(SOURCE)
    options = ["-g", "-O1", f"-Wl,--build-id=0x{ID}"]
    subprocess.run(["cc", *options, str(path.with_suffix(".c")), "-o", str(path)], check=True)
    listed = subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout
    (line,) = [line for line in listed.splitlines() if line.endswith(" T leaf")]
    return path, int(line.split()[0], 16)


def names(modules: dict[int, tuple[Path, int]]) -> tuple[dict[int, tuple[str, int]], set[int], int]:
    """Functions and lines by module, the modules that are too large, and the most memory that any process held in bytes."""
    asked = [
        {"module_id": number, "path": str(path), "build_id": ID, "vdso": False,
         "addresses": [address]}
        for number, (path, address) in modules.items()
    ]  # fmt: skip
    measured = [sys.executable, "-I", "-S", "-c", MEASURED, program(RECORDER), "names"]
    done = subprocess.run(
        [*measured, "--most", "60"],
        input=json.dumps(asked).encode(),
        capture_output=True,
        check=True,
    )
    told = json.loads(done.stdout)
    found = {one["module_id"]: (one["function"], one["line"]) for one in told["found"]}
    return found, set(told["too_large"]), int(done.stderr) * 1024


@pytest.mark.parametrize("what", TOO_LARGE)
def test_what_is_too_large_costs_its_own_names_and_bounded_memory(
    what: str, tmp_path: Path
) -> None:
    small, large = made(tmp_path / "small"), made(tmp_path / "large")
    make_too_large(large[0], what)
    assert large[0].stat().st_blocks * 512 < 64 * MIB
    # It comes first: what is read after it has names and lines all the same.
    found, too_large, held = names({LARGE: large, SMALL: small})
    assert found[SMALL] == ("leaf", 2)
    assert held < MOST_BYTES
    assert found.get(LARGE) == LEFT[what]
    assert too_large == {LARGE}


def test_what_is_not_too_large_is_read_in_little_memory(tmp_path: Path) -> None:
    found, too_large, held = names({SMALL: made(tmp_path / "small")})
    assert found == {SMALL: ("leaf", 2)}
    assert too_large == set()
    assert held < MOST_BYTES / 16
