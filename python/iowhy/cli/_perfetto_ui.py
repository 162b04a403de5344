"""A trace, handed to Perfetto's UI by this machine: the browser fetches it from 127.0.0.1, and nobody else can.

As tools/open_trace_in_ui of Perfetto does. The UI may fetch from port 9001 alone (its content-security policy), which
is that of Perfetto's own trace processor.
"""

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import quote

from iowhy.errors import Problem

UI = "https://ui.perfetto.dev"
PORT = 9001
_PIECE_BYTES = 1 << 20
#: A browser that was opened fetches at once; who opens the address by hand has some minutes.
PATIENCE_S = 300.0


class _Server(HTTPServer):
    allow_reuse_address = True  # of a connection of the last export that lingers
    trace: Path
    given = False


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """The trace, and nothing else."""
        trace = self.server.trace
        if self.path != _path(trace):
            self.send_error(404)
            return
        with trace.open("rb") as file:
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", UI)
            self.send_header("Cache-Control", "no-cache")
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(trace.stat().st_size))
            self.end_headers()
            while piece := file.read(_PIECE_BYTES):
                self.wfile.write(piece)
        self.server.given = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: what was fetched is said when it is done."""


class TraceServer:
    """Serves one trace from 127.0.0.1 until it was fetched once; use as a context. Raises Problem where the port is taken."""

    def __init__(self, trace: Path, port: int = PORT) -> None:
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise Problem("open-port-taken", port=port, error=error.strerror, trace=trace) from None
        self._server.trace = trace
        self.port = self._server.server_address[1]
        self.address = f"{UI}/#!/?url=http://127.0.0.1:{self.port}{_path(trace)}"

    def __enter__(self) -> "TraceServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()

    def serve(self, patience_s: float = PATIENCE_S) -> bool:
        """Waits until the trace was fetched; whether it was."""
        import time

        until = time.monotonic() + patience_s
        while not self._server.given and (left := until - time.monotonic()) > 0:
            self._server.timeout = left
            self._server.handle_request()
        return self._server.given


def _path(trace: Path) -> str:
    return "/" + quote(trace.name, errors="surrogateescape")
