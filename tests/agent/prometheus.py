"""A real Prometheus, the distribution's (`tools/packages prometheus` unpacks it), that scrapes an agent and has the shipped rules.

python -m tests.agent.prometheus HOST:PORT    of the agent's metrics; prints its own address, and serves until Ctrl-C
"""

import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from iowhy.agent import shipped

BIN = Path(__file__).parents[2] / "target/packages/prometheus/usr/bin"
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: iowhy
    static_configs: [{{targets: ["{agent}"]}}]
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def prometheus(folder: Path, scraped: str) -> Iterator[str]:
    """Its address; it ends with the context."""
    folder.mkdir(exist_ok=True)
    rules, config = folder / "alerts.yml", folder / "prometheus.yml"
    rules.write_text(shipped.text("alerts"))
    config.write_text(CONFIG.format(rules=rules, agent=scraped))
    checked = [BIN / "promtool", "check", "config", config]
    assert subprocess.run(checked, capture_output=True, check=False).returncode == 0
    port = free_port()
    argv = [BIN / "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    argv += [f"--web.listen-address=127.0.0.1:{port}"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(argv, stdout=log, stderr=log) as running,
    ):
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            running.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory(prefix="iowhy-prometheus-") as above,
        prometheus(Path(above), sys.argv[1]) as address,
        suppress(KeyboardInterrupt),
    ):
        print(address, flush=True)
        signal.pause()
