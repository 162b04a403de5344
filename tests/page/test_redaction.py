"""--redact: nothing of the names is left on the page, and the same name is the same token everywhere."""

import re

from iowhy.cli.html import _names
from iowhy.recordings import Recording
from iowhy.recordings.manifest import Host, Manifest
from iowhy.recordings.writer import write_recording
from iowhy.relations import Relations
from iowhy.views.html.redaction import Redactor, redactor_of
from tests.page.test_recording_page import page_of
from tests.reports.conftest import MS, Make, S, call, request
from tests.stacks.conftest import frames, sample, spent, wait

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
    assert all(name in open_page for name in (SECRETS[0], SECRETS[4]))
    assert "hunter2" not in open_page
    page = page_of(recording.path, "--redact")
    for word in (*SECRETS, "hunter2", "ledger", "acme", "2026.db"):
        assert word not in page, word
    assert "path-1" in page


def test_nor_a_function_of_a_program(make: Make) -> None:
    recording = make(
        {
            "thread_time": [spent(0, 1000 * MS, blocked=600 * MS)],
            "waits": [wait(100 * MS, 500 * MS, "journal_commit", syscall="fsync")],
            "modules": [{"module_id": 1, "path": "/opt/acme/bin/dbtool", "kind": "file"}],
            "user_stacks": frames({1: ("commit_ledger", None, "main")}),
            "stack_samples": [sample(200 * MS, 500 * MS, 1)],
        }
    )
    open_page = page_of(recording.path)
    assert "commit_ledger" in open_page and "dbtool+0x" in open_page
    page = page_of(recording.path, "--redact")
    assert "commit_ledger" not in page and "dbtool" not in page


def test_nor_the_address_of_a_peer(make: Make) -> None:
    asked = {"ts_ns": 1, "tgid": 10, "tid": 10, "port": 5432}
    recording = make({"connections": [{**asked, "address": at} for at in ("::1", "10.0.0.9")]})
    with Relations(recording) as relations:
        peers = _names(relations).peers
    say = redactor_of([recording], [], peers=peers).say
    assert not {"::1", "10.0.0.9"} & set(
        re.findall(r"[\d:.]+\b", say("ping ::1, then [::1]:5432 and 10.0.0.9:5432"))
    )


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


def test_names_of_programs_are_tokens_but_for_those_that_everybody_knows(tmp_path: object) -> None:
    argv = ["/opt/acme/bin/acme-billing-server", "--once"]
    manifest = Manifest.made(
        argv=argv,
        start_ns=7_000 * S,
        end_ns=7_001 * S,
        sensors=["syscalls", "threads", "block_requests"],
    )
    names = {10: "acme-billing-se", 11: "ledger writer 2", 12: "postgres", 13: "sh", 14: "rotator"}
    tables = {
        "threads": [
            {"tid": tid, "tgid": tid, "comm": comm, "start_ns": 7_000 * S, "exit_code": 0}
            for tid, comm in names.items()
        ],
        "thread_time": [
            {"ts_ns": 7_000 * S, "interval_ns": S, "tgid": tid, "tid": tid, "cpu_user_ns": S // 9}
            | {"cpu_kernel_ns": 0, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": S - S // 9}
            for tid in names
        ],
        "neighbours": [
            {"tgid": 1, "comm": "acme-backup", "container": "c1"},
            {"tgid": 2, "comm": "kworker/u8:3", "container": None},
        ],
        "containers": [
            {
                "id": "c1",
                "name": "vault",
                "pod": "vault-0",
                "pod_namespace": "ledger",
                "cgroup": "/a",
            }
        ],
        "block_requests": [
            request(
                0,
                S // 2,
                "read",
                dev=7,
                tgid=tgid,
                in_scope=tgid == 10,
                owner_dev=None,
                owner_ino=None,
            )
            for tgid in (10, 1)
        ],
    }
    recording = write_recording(tmp_path / "billing.iowhy", manifest, tables)  # type: ignore[operator]
    page = page_of(recording.path)
    assert "rotator" in page and "ledger/vault-0/vault" in page
    page = page_of(recording.path, "--redact")
    for word in ("acme", "ledger", "billing", "rotator", "vault"):
        assert word not in page, word
    assert "postgres" in page and "program-1" in page


def test_a_program_is_one_token_wherever_it_stands() -> None:
    programs = ["acme-billing-se", "ledger writer 2", "kworker/u8:3", "jbd2/vda1-8", "postgres"]
    argv = ["/opt/acme-billing-server", "-x"]
    redactor = Redactor([], [], commands=[argv], programs=programs)
    token = redactor.say("acme-billing-se")
    assert re.fullmatch(r"program-\d", token)
    assert redactor.say("/opt/acme-billing-server -x") == f"{token} arg-1"
    said = redactor.say("the busiest thread (acme-billing-se) waits for ledger writer 2")
    assert token in said and "ledger" not in said
    for name in ("kworker/u8:3", "jbd2/vda1-8", "postgres"):
        assert redactor.say(name) == name


def test_a_title_is_a_name_but_for_the_program_that_everybody_has() -> None:
    titles = ["postgres: acme shop 10.1.2.3(77) idle in transaction", "ledger: acme worker process"]
    redactor = Redactor([], [], programs=titles)
    said = redactor.say(f"{titles[0]} (12) and {titles[1]}: 10.1.2.3, each process of ledger")
    assert re.fullmatch(
        r"postgres: (program-\d) \(12\) and (program-\d): \1, each process of \2", said
    )


def test_nor_a_statement_nor_a_table_of_a_database(make: Make) -> None:
    text = "UPDATE salaries SET amount = ? WHERE employee = ? AND company = ? AND valid"
    reading = {
        "ts_ns": 7_000 * S,
        "span_ns": 900 * MS,
        "readings": 9,
        "tgid": 10,
        "tid": 10,
        "statement_id": "1",
    }
    recording = make(
        {
            "thread_time": [spent(0, 1000 * MS)],
            "statement_readings": [reading | {"began_ns": 7_000 * S, "exact": False, "wait": "Lock: tuple", "holder_tid": 10}],
            "statements": [{"statement_id": "1", "text": text, "server": "PostgreSQL 15", "database": "payroll"}],
        }
    )  # fmt: skip
    assert "salaries" in page_of(recording.path)
    page = page_of(recording.path, "--redact")
    assert "salaries" not in page and "payroll" not in page and "statement-1" in page
