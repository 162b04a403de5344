"""A deadline for a whole exchange over HTTP: a timeout of a socket begins again with each byte that drips in."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # comes with OpenTelemetry's exporter
    import requests


class Connections:
    """Those that are open, which end together when their time is over: then they are `late`."""

    def __init__(self) -> None:
        self.late = False
        self._open: list[socket.socket] = []

    def watched(self, kind: Any) -> Any:
        """The same kind of connection (http.client's, or urllib3's), noted here as it is opened."""
        note = self._note

        class Watched(kind):  # type: ignore[misc]
            def connect(self) -> None:
                # Of http.client; urllib3 has _new_conn.
                create: Callable[..., socket.socket] = self._create_connection  # type: ignore[has-type]
                self._create_connection = lambda *given, **named: note(create(*given, **named))
                super().connect()

            def _new_conn(self) -> socket.socket:
                return note(super()._new_conn())

        return Watched

    def _note(self, opened: socket.socket) -> socket.socket:
        """By another descriptor: a handshake of TLS takes the socket away from who opened it."""
        self._open.append(opened.dup())
        return opened

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Ends what is still open after that time; who waits for it gets an error."""
        self.late = False
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            for one in self._open:
                one.close()
            self._open.clear()

    def _end(self) -> None:
        self.late = True
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def session(self) -> "requests.Session":
        """A session of requests whose connections are noted; each is opened again."""
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

        pools: dict[str, Any] = {}
        for scheme, pool in (("http", HTTPConnectionPool), ("https", HTTPSConnectionPool)):
            kind = self.watched(pool.ConnectionCls)
            pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": kind})
        session = requests.Session()
        for scheme in pools:
            adapter = HTTPAdapter()
            adapter.poolmanager.pool_classes_by_scheme = pools
            session.mount(f"{scheme}://", adapter)
        session.headers["Connection"] = "close"
        return session
