"""Which reports give the same rows on DuckDB and on another engine: `python -m tests.fleet.engines connect|sail|sc://HOST:PORT [HOSTS] [REPORT…]`.

`connect` starts Spark's own server and `sail` Sail's (`pip install pysail`), each on a free port of this machine, and ends it. All reports of recordings and of fleets
are asked of three made recordings, one in a pack, and of nine hosts and their agents on two days, or as many as HOSTS. Exit status 1 where one differs; without `connect` in continuous
integration, which has not the time for all of them.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmarks.generated import generate
from iowhy.fleet.fleet_reports import fleet_reports
from iowhy.fleet.members import LeftOut
from iowhy.fleet.on_spark import session_at
from iowhy.fleet.packing import pack_fleet
from iowhy.fleet.places import places
from iowhy.reports import reports
from tests.fleet.agents import agent
from tests.fleet.hosts import write_fleet
from tests.fleet.spark_connect import free_port, spark_connect, wait
from tests.reports.test_agent import AGENT
from tests.reports.test_spark import MADE_STACKS, agree
from tests.stacks.conftest import with_tables

HOSTS = 9


@contextmanager
def sail(folder: Path) -> Iterator[str]:
    """The address of Sail's server."""
    port = free_port()
    words = ["-c", "from pysail.cli import main; main()", "spark", "server", "--port", str(port)]
    with (folder / "server.txt").open("w") as said:
        begun = subprocess.Popen([sys.executable, *words], cwd=folder, stdout=said, stderr=said)
    try:
        wait(begun, port, folder / "server.txt")
        yield f"sc://127.0.0.1:{port}"
    finally:
        begun.kill()
        begun.wait()


def recordings(folder: Path) -> list[Path]:
    """With rows in every table that a report reads."""
    made = generate(folder / "loose" / "a.iowhy", calls=800, files=8, threads=5)
    with_tables(made, MADE_STACKS | AGENT)
    generate(folder / "loose" / "b.iowhy", calls=100, files=4, threads=2, seed=3)
    generate(folder / "other" / "c.iowhy", calls=100, files=4, threads=2, seed=4)
    list(pack_fleet(places([str(folder / "other")]), folder / "packs", LeftOut()))
    return places([str(folder / "loose"), str(folder / "packs")])


def main(engine: str, names: list[str]) -> int:
    """Asks and prints a line for each report."""
    own, wrong = fleet_reports(), 0
    many = int(names.pop(0)) if names and names[0].isdigit() else HOSTS
    with tempfile.TemporaryDirectory(prefix="engines-") as above:
        folder = Path(above)
        write_fleet(folder / "hosts", many, (0, 1), slow=3)
        for host in range(many):
            agent(folder / "hosts" / f"agent-{host}", host, slow=3)
        hosts, few = places([str(folder / "hosts")]), recordings(folder)
        servers = {"connect": spark_connect, "sail": sail}
        server = servers[engine](folder) if engine in servers else nullcontext(engine)
        with server as url, session_at(url) as session:
            for name in names or sorted({*own, *reports()} - {"phases"}):
                begin = time.perf_counter()
                try:
                    agree(name, hosts if name in own else few, session)
                    found = "equal"
                except Exception as error:  # whatever an engine says
                    found, wrong = (
                        f"{type(error).__name__}: {str(error).strip()[:300]!r}",
                        wrong + 1,
                    )
                print(f"{name:28} {time.perf_counter() - begin:6.1f} s  {found}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
