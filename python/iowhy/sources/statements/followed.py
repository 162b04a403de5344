"""Statements of all servers of this machine for as long as they run, as their views show them."""

import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

from iowhy.sources.statements import started
from iowhy.sources.statements.sampler import Asked, Share
from iowhy.sources.statements.server import servers

#: Between two looks for servers that have started since.
LOOK_S = 60.0
EVERY_S = 10.0


class Followed:
    """Reads them in threads, and gives what sessions did to `take`."""

    def __init__(self, dsn: str, take: Callable[[list[Share]], None]) -> None:
        self._dsn, self._take = dsn, take
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._ended = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def end(self) -> None:
        """Nothing is read from here on."""
        self._ended.set()
        for process in list(self._processes.values()):
            process.kill()

    def _look(self) -> None:
        while not self._ended.is_set():
            for server in servers(None):
                known = self._processes.get(server.pid)
                if known is None or known.poll() is not None:
                    process = started(Asked(server, self._dsn, every_s=EVERY_S))
                    self._processes[server.pid] = process
                    threading.Thread(target=self._read, args=(process,), daemon=True).start()
            self._ended.wait(LOOK_S)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with suppress(msgspec.DecodeError):
                self._take(msgspec.json.decode(line, type=list[Share]))
