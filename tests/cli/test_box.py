"""A reader of what others made can do nothing else: code that takes it over writes, connects, starts and signals nothing."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from iowhy.mcp.worker import COMMAND
from iowhy.recordings import box
from iowhy.recordings.packer import pack
from tests.sources.reading import FIXTURES
from tests.whys.made import Story

ONE_ROW = Path(__file__).parents[2] / "docs" / "recordings" / "one-row.iowhy.zip"

#: What such code would try: where the first byte of others' is read, and at the end of the process, when all that it imports is there.
_ESCAPES = """
import atexit, ctypes, json, os, socket, sys
from pathlib import Path
there, out, others, may = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4].split()
libc = ctypes.CDLL(None, use_errno=True)
said = os.open(out, os.O_WRONLY | os.O_APPEND)
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
for name in may:
    del tries[name]
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
    os.write(said, json.dumps(done).encode() + b"\\n")
begun = []
def hook(event, words):
    if event == "open" and not begun and str(words[0]).startswith(others):
        begun.append(words[0])
        escape()
sys.addaudithook(hook)
atexit.register(escape)
sys.argv = ["iowhy", *sys.argv[5:]]
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


#: Each command that reads what others made, and what else it may do.
_COMMANDS: tuple[tuple[str, str], ...] = (
    ("why REC", ""),
    ("report sync REC", ""),
    ("sql REC FROM+syscalls --format csv -o rows.csv", ""),
    ("html REC -o page.html", ""),
    ("check REC", ""),
    ("what-if REC", ""),
    ("compare REC REC", ""),
    ("pack DIR -o packed.zip", ""),
    ("export REC -o trace.pftrace", ""),
    ("export REC --to csv -o tables", ""),
    ("export REC --to parquet -o tables", ""),
    ("top REC", ""),
    ("diagnose TEXT -o d.iowhy", "start"),
    ("fleet report causes REC", "start"),
    ("fleet report sync REC", "start"),
    ("fleet check REC", "start"),
    ("fleet pack REC -o packs", "start"),
)


@pytest.mark.usefixtures("boxed")
@pytest.mark.parametrize(("typed", "may"), _COMMANDS, ids=[one[0] for one in _COMMANDS])
def test_nothing_is_left_to_do(
    typed: str, may: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here, said = tmp_path / "there", tmp_path / "here", tmp_path / "said"
    there.mkdir()
    here.mkdir()
    said.touch()
    (there / "kept").write_text("as it was")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    story = Story(seconds=0.5).thread(user=0.5).caller("fsync", 40, blocked=1_000_000)
    made = story.requests(40).flushes(4, 1_000_000).write(tmp_path / "made.iowhy")
    pack(made, tmp_path / "made.iowhy.zip")
    stands = {
        "REC": str(tmp_path / "made.iowhy.zip"),
        "DIR": str(made.path),
        "TEXT": str(FIXTURES / "iostat-12-plain.txt"),
    }
    others = next(stands[word] for word in typed.split() if word in stands)
    words = [stands.get(word, word.replace("+", " ")) for word in typed.split()]
    command = [sys.executable, "-c", _ESCAPES, str(there), str(said), others, may, *words]
    status, shown = on_terminal(command, here) if words[0] == "top" else piped(command, here)
    assert status == 0, shown
    assert [json.loads(line) for line in said.read_text().splitlines()] == [[], []]
    assert (there / "kept").read_text() == "as it was" and len(list(there.iterdir())) == 1


def piped(command: list[str], here: Path) -> tuple[int, str]:
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def on_terminal(command: list[str], here: Path) -> tuple[int, str]:
    """Its status, once it is left by `q` after it has shown what it found."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    shown = b""
    with subprocess.Popen(command, cwd=here, env=environment, stdin=terminal, stdout=terminal, stderr=terminal) as view:  # fmt: skip
        os.close(terminal)
        with suppress(OSError):  # it has gone
            while part := os.read(main, 65536):
                shown += part
                if b"finished" in shown:
                    os.write(main, b"q")
        os.close(main)
    return view.returncode, shown.decode(errors="replace")


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
