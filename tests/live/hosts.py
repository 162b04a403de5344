"""A real sshd on a port of its own, with keys of its own, on this machine: what `--on HOST` reaches."""

import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from iowhy import proc_stat

HOST = "root@127.0.0.1"
_CONFIGURATION = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
SetEnv TMPDIR={far}
"""


def far(folder: Path) -> Path:
    """Where the server whose files are in the folder keeps what is recorded there."""
    return folder / "far"


def server(folder: Path) -> int:
    """The process of the server whose files are in the folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # It writes its words anew, as a title.
            if f"-f {folder}/sshd ".encode() in (process / "cmdline").read_bytes():
                return int(process.name)
    raise AssertionError("no server")


def children_of(parent: int) -> list[int]:
    """Those that a process has started: of a server, one for each connection."""
    return [pid for pid, of in proc_stat.parents().items() if of == parent]


@contextmanager
def ssh_to_here(folder: Path) -> Iterator[str]:
    """The words that reach HOST over ssh, while the server runs; its keys and its log are kept in the folder."""
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
        subprocess.run(key, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    far(folder).mkdir()
    (folder / "sshd").write_text(_CONFIGURATION.format(port=port, folder=folder, far=far(folder)))
    Path("/run/sshd").mkdir(exist_ok=True)
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    assert sshd is not None, "tools/setup test installs openssh-server"
    with subprocess.Popen(
        [sshd, "-D", "-e", "-f", folder / "sshd"], stderr=(folder / "log").open("w")
    ) as server:
        try:
            for _ in range(200):
                if "listening" in (folder / "log").read_text():
                    break
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
            yield shlex.join(
                [
                    "ssh",
                    "-F/dev/null",
                    f"-p{port}",
                    f"-i{folder}/user",
                    "-oStrictHostKeyChecking=no",
                    f"-oUserKnownHostsFile={folder}/known",
                ]
            )
        finally:
            server.terminate()
