"""A real S3 API (moto's server) that can be killed and started again with what it had: it records requests, and replays them first.

python -m tests.agent.lasting_store PORT LOG    serves until it is killed
"""

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from wsgiref.types import StartResponse, WSGIEnvironment

BUCKET = "kept"


class Store:
    """It, while it runs or not. `log`: every request that it got, one a line."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.log, self._said = folder / "requests", folder / "said"
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it if it does not run, and waits until it answers."""
        if self._running is not None and self._running.poll() is None:
            return
        words = [sys.executable, "-m", "tests.agent.lasting_store", str(self.port), str(self.log)]
        with self._said.open("a") as said:
            self._running = subprocess.Popen(words, stdout=said, stderr=said)
        for _ in range(1200):
            assert self._running.poll() is None, self._said.read_text()
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the store does not start")

    def kill(self) -> None:
        """kill -9, whatever it is about."""
        assert self._running is not None
        self._running.kill()
        self._running.wait()

    def requests(self) -> list[tuple[str, str]]:
        """Method and address of each."""
        whole = self.log.read_text().rpartition("\n")[0] if self.log.exists() else ""
        entries = [json.loads(line) for line in whole.splitlines()]
        return [(entry["method"], entry["url"]) for entry in entries]


@contextmanager
def lasting_store(folder: Path) -> Iterator[Store]:
    """One that runs, with the bucket."""
    store = Store(folder)
    store.start()
    try:
        made = urllib.request.Request(f"{store.address}/{BUCKET}", method="PUT")
        urllib.request.urlopen(made, timeout=60).close()
        yield store
    finally:
        store.kill()


def serve(port: int, log: Path) -> None:
    """What is in the log is done again before anybody can ask."""
    from moto.moto_api import recorder
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple
    from werkzeug.test import Client

    app = DomainDispatcherApplication(create_backend_app)
    client = Client(app)
    whole = log.read_bytes().rpartition(b"\n") if log.exists() else (b"", b"", b"")
    log.write_bytes(whole[0] + whole[1])  # the last one may have been cut off
    for line in whole[0].splitlines():
        entry = json.loads(line)
        body = base64.b64decode(entry["body"]) if entry["body_encoded"] else entry["body"]
        if entry["method"] in ("PUT", "POST", "DELETE"):
            client.open(
                entry["url"], method=entry["method"], headers=entry["headers"], data=body
            ).close()
    recorder.start_recording()
    # The recorder appends a request in several writes: of two at once, both lines would be lost.
    one_at_a_time = threading.Lock()

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with one_at_a_time:
            return app(environ, start_response)

    run_simple("127.0.0.1", port, served, threaded=True)


if __name__ == "__main__":
    os.environ["MOTO_RECORDER_FILEPATH"] = sys.argv[2]
    serve(int(sys.argv[1]), Path(sys.argv[2]))
