"""A real S3 API for tests: moto's server, on a free port of this machine."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

#: How who asks for it reaches the server, beside its address.
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


@contextmanager
def object_store(said: Path) -> Iterator[str]:
    """Its address; it ends with the context, and what was stored with it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with said.open("w") as file:
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        begun = subprocess.Popen(words, stdout=file, stderr=file)
    try:
        for _ in range(600):
            assert begun.poll() is None, said.read_text()
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        begun.kill()
        begun.wait()


def reach(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Whoever asks for an object store in this test asks this one."""
    for name, value in (KEYS | {"AWS_ENDPOINT_URL": address}).items():
        monkeypatch.setenv(name, value)


def put(address: str, bucket: str, folder: Path) -> None:
    """Stores all files below a folder under their paths there; the bucket is made."""
    made = urllib.request.Request(f"{address}/{bucket}", method="PUT")
    urllib.request.urlopen(made, timeout=60).close()
    store = _store(address, bucket)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            obstore.put(store, str(file.relative_to(folder)), file.read_bytes())


def sizes(address: str, bucket: str, prefix: str) -> dict[str, int]:
    """What is stored below a prefix, and how many bytes each."""
    return {
        one["path"]: one["size"]
        for some in obstore.list(_store(address, bucket), prefix)
        for one in some
    }


def _store(address: str, bucket: str) -> S3Store:
    return S3Store(
        bucket,
        endpoint=address,
        access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        region=KEYS["AWS_REGION"],
        client_options={"allow_http": True},
    )
