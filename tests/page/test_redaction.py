"""--redact: nothing of the names is left on the page, and the same name is the same token everywhere."""

import re

from iowhy.recording import Recording
from iowhy.recording.manifest import Host, Manifest
from iowhy.recording.writer import write_recording
from iowhy.views.html.redaction import Redactor
from tests.page.test_recording_page import page_of
from tests.reports.conftest import MS, S, call

SECRETS = ("customer-acme", "ledger 2026.db", "--token=hunter2", "alice", "db17.internal")


def secret(tmp_path: object) -> Recording:
    path = f"/home/alice/{SECRETS[0]}/{SECRETS[1]}"
    manifest = Manifest.made(
        argv=["/opt/acme/bin/dbtool", SECRETS[2], path],
        start_ns=7_000 * S,
        end_ns=7_001 * S,
        sensors=["syscalls"],
        host=Host(name=SECRETS[4], cpus=2, page_bytes=4096),
    )
    tables = {
        "files": [{"dev": 1, "ino": 2, "path": path, "kind": "file", "deleted": False}],
        "syscalls": [call(at * MS, 9 * MS, "fsync") for at in range(0, 900, 10)],
    }
    return write_recording(tmp_path / "acme-case.iowhy", manifest, tables)  # type: ignore[operator]


def test_no_name_is_left_on_a_redacted_page(tmp_path: object) -> None:
    recording = secret(tmp_path)
    open_page = page_of(recording.path)
    assert all(name in open_page for name in (SECRETS[0], SECRETS[2], SECRETS[4]))
    page = page_of(recording.path, "--redact")
    for word in (*SECRETS, "hunter2", "ledger", "acme", "2026.db"):
        assert word not in page, word
    assert "path-1" in page and "were replaced by tokens" in page


def test_the_same_name_is_the_same_token_and_sentences_stay_sentences() -> None:
    redactor = Redactor(
        ["/srv/a/b.db", "/srv/a/c d.log"], [("host", "node7")], [("here/x.iowhy", "REC.iowhy")]
    )
    first = redactor.say("/srv/a/b.db")
    assert re.fullmatch(r"path-\d", first)
    assert redactor.say("waits for /srv/a/b.db, twice.") == f"waits for {first}, twice."
    assert "node7" not in redactor.say("on node7: 4 KiB/s") and "4 KiB/s" in redactor.say("4 KiB/s")
    assert redactor.say("`iowhy report files here/x.iowhy`") == "`iowhy report files REC.iowhy`"
    said = redactor.say("98 % of the time waits for sync, most of it in fdatasync")
    assert said == "98 % of the time waits for sync, most of it in fdatasync"
    said = "SQLite: one transaction (https://www.sqlite.org/faq.html#q19)"
    assert redactor.say(said) == said
    assert "b.db" not in redactor.say("fetched from https://node7/srv/a/b.db")
    assert "log" not in redactor.say("see c d.log now").split()
    assert redactor.say("/unknown/other") == redactor.say("/unknown/other") != first
