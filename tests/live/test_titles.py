"""Processes by the titles that they wrote over their arguments, in both modes; arguments are nobody's title."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from conftest import cannot_run
from iowhy.lab import shell
from iowhy.lab.scenarios.postgres import _AS, _tool
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program
from machine import ask, python, record

pytestmark = pytest.mark.usefixtures("live")

#: As setproctitle(3) does it: the arguments' memory begins and ends where /proc/PID/stat says (proc_pid_stat(5)).
TITLED = """
import ctypes, os, subprocess, sys, time
def entitle(title):
    begin, end = map(int, open("/proc/self/stat").read().rpartition(")")[2].split()[45:47])
    ctypes.memmove(begin, title.encode().ljust(end - begin, b"\\0")[:end - begin], end - begin)
def work(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until: sum(range(1000)); time.sleep(0.005)
entitle("demo: first --secret hunter2")
plain = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(0.4)", "a b: c", "d e"])
if os.fork() == 0:
    entitle("demo: ends early")
    work(0.5)
    os._exit(0)
# Who ended first is waited for: the other one stays a zombie, which is recorded once.
os.wait()
plain.wait()
entitle("demo: last hunter2=3")
# From /proc a title is read at most a second apart (readings/src/titles.rs).
work(1.5)
"""


@pytest.mark.parametrize("mode", ["bpf", "proc"])
def test_a_process_is_called_by_its_title(mode: str, tmp_path: Path) -> None:
    recording = record(python(TITLED, "x" * 60), tmp_path / "a.iowhy", "--mode", mode)
    found = ask(
        recording,
        "SELECT title, comm LIKE 'python%' FROM threads WHERE tid = tgid"
        " AND coalesce(end_ns, start_ns + 1000000000) - start_ns > 200000000 ORDER BY title",
    )
    assert found == [("demo: ends early", True), ("demo: last", True), (None, True)]


def test_the_processes_of_postgresql_are_told_apart(request: pytest.FixtureRequest) -> None:
    lacking = shell.missing(("initdb", "postgres", "pg_ctl", "psql"))
    if lacking is not None:
        cannot_run(request, lacking)
    with TemporaryDirectory(prefix="iowhy-test.", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        pg_ctl = [*_AS, _tool("pg_ctl"), "-D", f"{name}/cluster"]
        shell.run(
            (*_AS, _tool("initdb"), "-D", f"{name}/cluster", "-N", "-A", "trust", "--no-locale")
        )
        options = f"-k {name} -c listen_addresses='' -c cluster_name=shop"
        shell.run((*pg_ctl, "-w", "-s", "-l", f"{name}/log", "-o", options, "start"))
        try:
            asleep = [
                _tool("psql"),
                "-h",
                name,
                "-U",
                "nobody",
                "-c",
                "SELECT pg_sleep(60)",
                "postgres",
            ]
            with subprocess.Popen(asleep, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
                recorder = [
                    program(RECORDER),
                    "machine",
                    "--duration",
                    "2",
                    "-o",
                    f"{name}/a.iowhy",
                ]
                subprocess.run(recorder, check=True, capture_output=True, timeout=120)
                shell.run((*pg_ctl, "-s", "-m", "immediate", "stop"))
        finally:
            subprocess.run([*pg_ctl, "-s", "-m", "immediate", "stop"], capture_output=True)
        found = ask(
            open_recording(folder / "a.iowhy"),
            "SELECT title FROM threads WHERE title LIKE 'postgres: shop: %'",
        )
        titles = {str(title) for (title,) in found}
    assert {"postgres: shop: checkpointer", "postgres: shop: walwriter"} <= titles
    assert any(title.startswith("postgres: shop: nobody postgres [local]") for title in titles)
