"""A Spark Connect server of the test's own: Spark's, which pyspark brings, on a free port of this machine."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

#: What pays off on data, and not on a few hundred rows; its snappy takes a machine that has musl beside glibc for one of musl.
QUICK = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.parquet.compression.codec": "uncompressed",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def must_have_java() -> None:
    """Skips, and fails where continuous integration has none."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing = "Spark needs Java 17 or later: apt-get install default-jre-headless"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)


@contextmanager
def spark_connect(folder: Path, **more: str) -> Iterator[str]:
    """Its address; it ends with the context. `more` are settings of Spark, with _ for each dot."""
    must_have_java()
    home, port = Path(pyspark.__file__).parent, free_port()
    settings = QUICK | {name.replace("_", "."): value for name, value in more.items()}
    settings |= {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    words = [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
    kept = {"SPARK_HOME": str(home), "SPARK_LOG_DIR": str(folder), "SPARK_PID_DIR": str(folder)}
    with (folder / "server.txt").open("w") as said:
        begun = subprocess.Popen(
            [
                str(home / "sbin" / "start-connect-server.sh"),
                "--wait",
                "--master",
                "local[2]",
                *words,
            ],
            cwd=folder,
            stdout=said,
            stderr=said,
            env=os.environ | kept,
            start_new_session=True,
        )
    try:
        wait(begun, port, folder / "server.txt")
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(begun.pid, signal.SIGKILL)
        begun.wait()


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait(begun: subprocess.Popen[bytes], port: int, said: Path) -> None:
    """Until a server that was begun listens; fails with what it said where it ends."""
    for _ in range(1200):
        assert begun.poll() is None, said.read_text()
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(said.read_text())
