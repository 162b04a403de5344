"""Whom a process is connected to: by the connection that it asks for, and by those that it has when it is attached to."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from iowhy.recordings import Recording, open_recording
from iowhy.sources.live import RECORDER, program
from iowhy.whys.verdict import judge
from machine import ask, python, record

pytestmark = pytest.mark.usefixtures("live")

#: Asks for answers over one connection.
CLIENT = """
import socket, sys
peer = socket.create_connection((sys.argv[1], int(sys.argv[2])))
for _ in range(int(sys.argv[3])):
    peer.sendall(b"?")
    peer.recv(1)
    print("answered", flush=True)
"""


@contextmanager
def late(address: str, seconds: float) -> Iterator[int]:
    """A server that answers one client's bytes, each after some time; its port."""
    ended = Event()

    def serve(server: socket.socket) -> None:
        client, _ = server.accept()
        with client:
            while client.recv(1) and not ended.wait(seconds):
                client.sendall(b"!")

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:
        thread = Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        ended.set()
        thread.join(10)


def peers(recording: Recording) -> list[tuple[object, ...]]:
    return ask(recording, "SELECT DISTINCT address, port FROM connections")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_command_waits_for_a_peer_with_an_address(address: str, tmp_path: Path) -> None:
    with late(address, 0.5) as port:
        recording = record(python(CLIENT, address, str(port), "2"), tmp_path / "r.iowhy")
    assert peers(recording) == [(address, port)]
    found = judge(recording).findings[0]
    assert found.cause == "not-io"
    assert found.fixes[0].do.id == "not-io.local-peer" and found.fixes[0].do.values["port"] == port


def test_of_a_process_that_runs_already_so_are_its_connections(tmp_path: Path) -> None:
    with late("127.0.0.1", 0.3) as port:
        argv = python(CLIENT, "127.0.0.1", str(port), "20")
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as client:
            assert client.stdout is not None and client.stdout.readline()
            words = ["attach", "-o", tmp_path / "r.iowhy", "--duration", "1"]
            subprocess.run([program(RECORDER), *words, "--pid", str(client.pid)], check=True)
            client.kill()
    assert peers(open_recording(tmp_path / "r.iowhy")) == [("127.0.0.1", port)]
