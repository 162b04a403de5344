"""A server that never ends: it answers one byte at a time for as long as somebody listens."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: What it begins with: within the headers, within the body, and within a record of a handshake of TLS.
HEADERS = b"HTTP/1.1 200 OK\r\nX: "
HANDSHAKE = b"\x16\x03\x03\x40\x00"
BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@contextmanager
def dripping(begins: bytes) -> Iterator[str]:
    """Its address."""
    ended = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(begins)
            while not ended.wait(0.02):
                connection.sendall(b"x")

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=drip, args=[server.accept()[0]], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        try:
            scheme = "https" if begins == HANDSHAKE else "http"
            yield f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
        finally:
            ended.set()
            server.shutdown(socket.SHUT_RDWR)
