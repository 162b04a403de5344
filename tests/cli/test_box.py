"""A reader of what others made can do nothing else: code that takes it over writes, connects, starts and signals nothing."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from iowhy.mcp.worker import COMMAND
from iowhy.recordings import box
from tests.sources.reading import FIXTURES

ONE_ROW = Path(__file__).parents[2] / "docs" / "recordings" / "one-row.iowhy.zip"

#: What such code would try, at the end of the process, when all that it imports is there.
_ESCAPES = """
import atexit, ctypes, json, os, socket, sys
from pathlib import Path
there, out = Path(sys.argv[1]), sys.argv[2]
libc = ctypes.CDLL(None, use_errno=True)
said = os.open(out, os.O_WRONLY)
tries = {
    "write": lambda: (there / "new").write_text("x"),
    "append": lambda: (there / "kept").open("a"),
    "truncate": lambda: os.truncate(there / "kept", 0),
    "remove": (there / "kept").unlink,
    "rename": lambda: (there / "kept").rename(there / "gone"),
    "mode": lambda: (there / "kept").chmod(0o777),
    "link": lambda: (there / "more").hardlink_to(there / "kept"),
    "connect": lambda: socket.create_connection(("127.0.0.1", 9)),
    "local socket": lambda: socket.socket(socket.AF_UNIX),
    "start": lambda: os.execv("/bin/true", ["true"]),
    "signal": lambda: os.kill(os.getppid(), 0),
    "trace": lambda: libc.ptrace(16, os.getppid(), 0, 0) == 0 or refused(),
    "ring": lambda: libc.syscall(425, 1, 0) >= 0 or refused(),
}
def refused():
    raise PermissionError
def escape():
    done = []
    for name, attempt in tries.items():
        try:
            attempt()
            done.append(name)
        except PermissionError:
            pass
        except OSError as error:
            if error.errno != 18:  # EXDEV: a link would lead out of what it may write
                done.append(f"{name}: {error}")
    os.write(said, json.dumps(done).encode())
atexit.register(escape)
sys.argv = ["iowhy", *sys.argv[3:]]
from iowhy.cli.main import main
main()
"""


@pytest.fixture
def boxed() -> None:
    found = box.available()
    if found.landlock < 6 or not found.seccomp:
        if os.environ.get("CI") == "true":
            pytest.fail("this kernel has no Landlock of version 6, or no seccomp")
        pytest.skip("this kernel has no Landlock of version 6, or no seccomp")


@pytest.mark.usefixtures("boxed")
@pytest.mark.parametrize(
    ("words", "may"),
    [
        (["why", "REC"], []),
        (["sql", "REC", "SELECT count(*) FROM syscalls", "--format", "csv", "-o", "rows.csv"], []),
        (["html", "REC", "-o", "page.html"], []),
        (["export", "REC", "-o", "trace.pftrace"], []),
        (["diagnose", str(FIXTURES / "iostat-12-plain.txt"), "-o", "d.iowhy"], ["start"]),
    ],
)
def test_nothing_is_left_to_do(words: list[str], may: list[str], tmp_path: Path) -> None:
    there, here, said = tmp_path / "there", tmp_path / "here", tmp_path / "said"
    there.mkdir()
    here.mkdir()
    said.touch()
    (there / "kept").write_text("as it was")
    words = [str(ONE_ROW) if word == "REC" else word for word in words]
    script = _ESCAPES.replace('"start": lambda: os.execv("/bin/true", ["true"]),', "") if may else _ESCAPES  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", script, str(there), str(said), *words],
        cwd=here, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(said.read_text()) == []
    assert (there / "kept").read_text() == "as it was" and len(list(there.iterdir())) == 1


@pytest.mark.usefixtures("boxed")
def test_nor_to_what_answers_an_agent(tmp_path: Path) -> None:
    with zipfile.ZipFile(ONE_ROW) as packed:
        packed.extractall(tmp_path)
    hook = tmp_path / "sitecustomize.py"
    hook.write_text(
        "import atexit, os\n"
        "def escape():\n"
        "    for attempt in (lambda: open('written', 'w'), lambda: os.execv('/bin/false', ['false'])):\n"
        "        try: attempt()\n"
        "        except PermissionError: os.write(2, b'refused ')\n"
        "atexit.register(escape)\n"
    )
    asked = json.dumps(["sql", {"recording": "one-row.iowhy", "select": "SELECT 1 AS one"}]) + "\n"
    with subprocess.Popen(
        COMMAND, cwd=tmp_path, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as worker:  # fmt: skip
        assert worker.stdin and worker.stdout and worker.stderr
        worker.stdin.write(asked)
        worker.stdin.flush()
        answer, refused = json.loads(worker.stdout.read()), worker.stderr.read()
        worker.stdin.close()
    assert answer["answer"]["rows"] == [{"one": 1}] and refused.split() == ["refused"] * 2


def test_who_imports_iowhy_keeps_its_rights() -> None:
    box.enter()
    assert subprocess.run(["true"], check=False).returncode == 0
