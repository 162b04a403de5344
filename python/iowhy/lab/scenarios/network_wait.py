"""Control: a client that waits for a slow server over the loopback interface."""

import sys

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_SERVER = """
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    customer, _ = listener.accept()
    while customer.recv(64):
        time.sleep(0.05)
        customer.send(b"answer")
"""

_CLIENT = """
import socket, sys, time
for _ in range(100):
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(sys.argv[1])
        break
    except OSError:
        time.sleep(0.05)
for _ in range(int(sys.argv[2])):
    server.send(b"question")
    server.recv(64)
"""


def _client(stage: Stage) -> Plan:
    socket = str(stage.folder / "server")
    stage.neighbour([sys.executable, "-c", _SERVER, socket])
    return Plan((sys.executable, "-c", _CLIENT, socket, str(stage.choice.count(70))))


SCENARIO = Scenario(
    name="network-wait",
    title="a client waits for a slow server",
    variants=(Variant("client", "50 ms for each answer", _client, ("not-io", "healthy")),),
    devices=("memory",),
    filesystems=("ext4",),
)
