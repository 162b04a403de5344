"""A deadline for a whole exchange over HTTP: a timeout of a socket begins anew with each byte that drips in."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # comes with OpenTelemetry's exporter
    import requests


class Connections:
    """Those that are open, which end together when their time is over: then they are `late`."""

    def __init__(self) -> None:
        self.late = False
        self._open: list[http.client.HTTPConnection] = []

    def watched(self, kind: Any) -> Any:
        """The same kind of connection (http.client's, or urllib3's), noted here as it is opened."""
        noted = self._open

        class Watched(kind):  # type: ignore[misc]
            def connect(self) -> None:
                noted.append(self)
                super().connect()

        return Watched

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Ends what is still open after that time; who waits for it gets an error."""
        self._open.clear()
        self.late = False
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        self.late = True
        for one in self._open:
            with suppress(OSError, AttributeError):
                socket.socket.shutdown(one.sock, socket.SHUT_RDWR)

    def session(self) -> "requests.Session":
        """A session of requests whose connections are noted; each is opened anew."""
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
