"""What is kept arrives in a real object store, once and whole, whatever is killed meanwhile, and what does not is counted."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iowhy.agent import retention, uploads
from iowhy.agent.uploads import Uploads
from iowhy.recordings import object_store
from iowhy.recordings.object_store import below, path_of, put, stored_bytes
from tests.agent.lasting_store import BUCKET, Store, lasting_store
from tests.object_store import reach
from tests.problems import wrong

FILES = 7


@pytest.fixture(scope="module")
def only_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with lasting_store(tmp_path_factory.mktemp("store")) as running:
        yield running


@pytest.fixture(autouse=True)
def store(only_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(uploads, "FIRST_S", 0.05)
    monkeypatch.setattr(uploads, "LONGEST_S", 0.2)
    reach(monkeypatch, only_store.address)
    only_store.start()  # where a test that failed has left it dead
    return only_store


def to(root: Path) -> Path:
    """Each test has a prefix of its own."""
    return path_of(f"s3://{BUCKET}/{root.parent.name}/kept")


def kept(root: Path, number: int, size: int = 20_000) -> Path:
    """A recording with some files of its own content."""
    path = root / "date=2026-11-23" / "host=db-1" / f"{number:06}-agent.iowhy"
    dice = random.Random(number)
    for file in range(FILES):
        table = path / f"table_{file % 3}"
        table.mkdir(parents=True, exist_ok=True)
        (table / f"{file:06}.parquet").write_bytes(dice.randbytes(size))
    (path / "manifest.json").write_text(f'{{"number": {number}}}')
    return path


def here(root: Path) -> dict[str, bytes]:
    files = (one for one in root.glob("date=*/**/*") if one.is_file())
    return {str(one.relative_to(root)): one.read_bytes() for one in files}


def there(root: Path) -> dict[str, bytes]:
    stored = list(below(to(root)))
    return {str(one.path.relative_to(to(root))): stored_bytes(one.path) or b"" for one in stored}


def puts(store: Store, root: Path) -> list[str]:
    """The keys that were put, as often as they were."""
    asked = store.requests()
    return [url for method, url in asked if method == "PUT" and f"/{root.parent.name}/" in url]


def within(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.01)


def started(root: Path, said: list[str] | None = None) -> Uploads:
    running = Uploads(root, to(root), (said if said is not None else []).append)
    running.know(retention.kept(root), [])
    return running


def half_visible(root: Path) -> list[str]:
    """Recordings with a manifest in the store that lack something there, or have it otherwise."""
    found, ours = there(root), here(root)
    shown = [key.removesuffix("manifest.json") for key in found if key.endswith("manifest.json")]
    wrong = [key for key in ours if key.startswith(tuple(shown)) and found.get(key) != ours[key]]
    return wrong if shown else []


def test_a_store_that_is_killed_in_the_middle_gets_everything_once(
    tmp_path: Path, store: Store
) -> None:
    root = tmp_path / "kept"
    said: list[str] = []
    running = started(root, said)
    # Each time there is more to store than arrives before anybody looks, and one has arrived.
    for turn, more in enumerate((3, 5, 13)):
        for number in range(6):
            kept(root, 6 * turn + number)
        running.know(retention.kept(root), [])
        before, done, failed = len(puts(store, root)), running.counts["done"], len(said)
        within(lambda done=done, turn=turn: turn == 0 or running.counts["done"] > done)
        within(lambda before=before, more=more: len(puts(store, root)) > before + more)
        store.kill()
        within(lambda failed=failed: any(one.startswith("not uploaded") for one in said[failed:]))
        store.start()
        assert half_visible(root) == []
    within(lambda: running.waiting == 0)
    running.end(60)
    assert there(root) == here(root)
    assert running.counts["done"] == 18 and running.counts["dropped"] == 0
    assert running.counts["failed"] >= 3
    # Who begins anew puts nothing again, also where it was not written down what is stored.
    seen = len(puts(store, root))
    for lost in (False, True):
        if lost:
            (root / uploads.STATE).unlink()
        again = started(root)
        within(lambda again=again: again.waiting == 0)
        again.end(60)
    assert len(puts(store, root)) == seen


AGENT = """
import sys, time
from pathlib import Path
from iowhy.agent import retention
from iowhy.agent.uploads import Uploads
root = Path(sys.argv[1])
running = Uploads(root, Path(sys.argv[2]), print)
running.know(retention.kept(root), [])
while running.waiting:
    time.sleep(0.01)
"""


def test_who_uploads_is_killed_and_the_next_one_goes_on(tmp_path: Path, store: Store) -> None:
    root = tmp_path / "kept"
    for number in range(4):
        kept(root, number, 200_000)
    words = [sys.executable, "-c", AGENT, str(root), str(to(root))]
    seen = 0
    for more in (4, 9):
        seen += more
        with subprocess.Popen(words, env=os.environ) as running:
            within(lambda seen=seen: len(puts(store, root)) > seen)
            running.send_signal(signal.SIGKILL)
        assert half_visible(root) == []
    subprocess.run(words, check=True, timeout=120)
    assert there(root) == here(root)


def test_what_goes_away_before_it_is_stored_is_counted_and_is_the_last_to_go(
    tmp_path: Path, store: Store
) -> None:
    root = tmp_path / "kept"
    first = kept(root, 1)
    said: list[str] = []
    running = started(root, said)
    within(lambda: running.waiting == 0)
    store.kill()
    later = [kept(root, number) for number in (0, 2, 3)]
    running.know(retention.kept(root), [])
    within(lambda: running.counts["failed"] > 0)
    # It is not the oldest, but the others are still to be stored.
    each = retention.kept(root)[0].bytes
    gone = retention.prune(root, each * 3, 10**18, time.time(), running.is_waiting)
    assert gone == [first]
    running.know(retention.kept(root), gone)
    assert running.counts["dropped"] == 0
    gone = retention.prune(root, each * 2, 10**18, time.time(), running.is_waiting)
    assert gone == later[:1]
    running.know(retention.kept(root), gone)
    assert (running.counts["dropped"], running.waiting) == (1, 2)
    assert f"it had not been uploaded: {later[0]}" in said
    store.start()
    within(lambda: running.waiting == 0)
    running.end(60)
    # What was stored stays there, whatever goes away here; of what was dropped nothing is there.
    names = {key.split("/")[2] for key in there(root)}
    assert names == {first.name, later[1].name, later[2].name}
    assert half_visible(root) == []


def test_what_is_taken_away_in_the_middle_leaves_nothing(tmp_path: Path, store: Store) -> None:
    root = tmp_path / "kept"
    path = kept(root, 1, 2_000_000)
    running = started(root)
    within(lambda: len(puts(store, root)) > 3)
    shutil.move(path, tmp_path / "gone")
    running.know([], [path])
    running.end(60)
    if running.counts["dropped"] and not running.counts["done"]:
        assert there(root) == {}


def test_another_recording_of_that_name_stays(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    path = kept(root, 1)
    running = started(root)
    within(lambda: running.waiting == 0)
    old = here(root)
    shutil.rmtree(path)
    running.know([], [path])
    # A clock that was set back: other content, the same name.
    path.mkdir()
    (path / "manifest.json").write_text('{"number": 77}')
    running.know(retention.kept(root), [])
    within(lambda: running.waiting == 0)
    running.end(60)
    second = "date=2026-11-23/host=db-1/000001-agent-2.iowhy/manifest.json"
    assert there(root) == old | {second: b'{"number": 77}'}


def test_what_an_upload_that_broke_off_left_is_no_part_of_another(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    path = kept(root, 1)
    put(to(root) / path.relative_to(root) / "table_9" / "000001.parquet", b"of another")
    running = started(root)
    within(lambda: running.waiting == 0)
    running.end(60)
    assert there(root) == here(root)


def test_one_that_cannot_be_read_does_not_hold_up_the_others(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    bad, good = kept(root, 1), kept(root, 2)
    (bad / "manifest.json").unlink()
    (bad / "manifest.json").mkdir()
    running = started(root)
    within(lambda: running.waiting == 1)
    running.end(60)
    assert {key.split("/")[2] for key in there(root)} == {good.name}


def test_no_room_to_write_down_what_is_stored(tmp_path: Path, store: Store) -> None:
    root = tmp_path / "kept"
    kept(root, 1)
    (root / f"{uploads.STATE}.tmp").mkdir()
    for _ in range(2):
        running = started(root)
        within(lambda running=running: running.waiting == 0)
        running.end(60)
    assert there(root) == here(root)
    keys = puts(store, root)
    assert len(keys) == len(set(keys))


def test_a_bucket_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    kept(root, 1)
    said: list[str] = []
    running = Uploads(root, path_of("s3://no-such-bucket"), said.append)
    running.know(retention.kept(root), [])
    within(lambda: running.counts["failed"] >= 3)
    running.end(60)
    assert len(said) == 1
    assert re.match(r"not uploaded, tried again: s3://no-such-bucket/.*404 Not Found", said[0])


def test_without_obstore_it_says_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    object_store._store_by.cache_clear()
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with wrong("obstore-missing"):
        Uploads(tmp_path, to(tmp_path), print)
