"""A collector: takes OTLP over HTTP, by the official protobuf classes.

python -m tests.agent.collector PORT    prints the metrics of each push, and serves until Ctrl-C
"""

import gzip
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)


@contextmanager
def collector(port: int = 0) -> Iterator[tuple[int, list[ExportMetricsServiceRequest]]]:
    """Its port, and what it got."""
    got: list[ExportMetricsServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known = (
                self.path == "/v1/metrics"
                and self.headers["Content-Type"] == "application/x-protobuf"
                and self.headers["Content-Encoding"] == "gzip"
            )
            if known:
                got.append(ExportMetricsServiceRequest.FromString(gzip.decompress(body)))
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportMetricsServiceResponse().SerializeToString())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port, got
        finally:
            server.shutdown()


def told(request: ExportMetricsServiceRequest) -> dict[str, dict[tuple[str, ...], object]]:
    """Each metric's points: the value, or the whole point of a histogram, by the values of their attributes."""
    found: dict[str, dict[tuple[str, ...], object]] = {}
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = str(metric.WhichOneof("data"))
                for point in getattr(metric, kind).data_points:
                    key = tuple(one.value.string_value for one in point.attributes)
                    value = point
                    if kind != "histogram":
                        value = getattr(point, str(point.WhichOneof("value")))
                    found.setdefault(metric.name, {})[key] = value
    return found


if __name__ == "__main__":
    with collector(int(sys.argv[1])) as (_, pushed), suppress(KeyboardInterrupt):
        while True:
            while pushed:
                found = told(pushed.pop(0))
                print(
                    ", ".join(f"{name} ({len(points)})" for name, points in found.items()),
                    flush=True,
                )
            time.sleep(0.1)
