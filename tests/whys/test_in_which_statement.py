"""The statement of a database in which a finding's time is, and of what that reads."""

import pytest

from iowhy.whys.finding import Finding

from .conftest import Judge, leads
from .made import FILE, FS, KIB, MS, START, Story

TEXT = "SELECT count(*) FROM item WHERE id > ?"
PATH = "/pg/base/5/16389"


def session(*, part: float = 0.9, again: bool = False) -> Story:
    """A session reads an index 18 of 20 ms, in a probed statement `part` of the time."""
    story = Story(2.0).file(FILE, PATH, 64 << 20)
    waits = {"cpu_ns": 0, "runnable_ns": 0, "blocked_ns": 18 * MS, "sleeping_ns": 0}
    for number in range(100):
        at = START + number * 20 * MS
        offset = number % (2 if again else 100) * 512 * KIB
        story.call(at, "pread64", waits, tid=10, ino=FILE, offset=offset, bytes_=512 * KIB)
        story.wait(at, 18 * MS, "page_read", "pread64")
        if number < 100 * part:
            story.add(
                "statement_calls", ts_ns=at - MS, dur_ns=20 * MS, tgid=10, tid=10, statement_id="a", begins=number == 0,
                time_ns=20 * MS, kernel_ns=0, runnable_ns=0, blocked_ns=18 * MS, sleeping_ns=0,
            )  # fmt: skip
    story.thread(blocked=0.9)
    story.requests(400, bytes_=128 * KIB, service=int(4.5 * MS))
    story.add("statements", statement_id="a", text=TEXT, server="PostgreSQL 15")
    return story.cache(lookups=12_800, misses=400, readahead=12_400)


def named(found: Finding) -> dict[str, object]:
    ids = {getattr(one.statement, "id", ""): one.statement.values for one in found.chain}
    return dict(ids.get("in-which-statement", {}))


@pytest.mark.parametrize("known", [True, False])
def test_a_finding_names_its_statement_and_what_that_reads(judged: Judge, known: bool) -> None:
    """By the catalogue, else by its file; orders that have the file's path say what it is."""
    story = session()
    if known:
        story.add("database_files", path=PATH, object="item_pkey (index of item)")
    found = leads(judged(story), "cache-cold", 0.85)
    values = named(found)
    assert (values["statement"], values["reads"]) == (TEXT, "cold")
    assert values["object"] == ("item_pkey (index of item)" if known else PATH)
    assert values["share"] == pytest.approx(0.9, abs=0.01)
    assert TEXT in found.summary and str(values["object"]) in found.summary
    orders = [one.do for one in found.fixes if PATH in one.do]
    assert orders and all(("item_pkey (index of item)" in one) is known for one in orders)


def test_not_one_that_has_less_than_half_of_it(judged: Judge) -> None:
    found = leads(judged(session(part=0.4)), "cache-cold", 0.85)
    assert not named(found) and TEXT not in found.summary


def test_what_is_read_again_is_said_to_be(judged: Judge) -> None:
    found = next(iter(judged(session(again=True)).findings))
    assert named(found)["reads"] == "thrashed"


def test_an_order_for_a_table_names_the_one_that_is_waited_for(judged: Judge) -> None:
    """In the words of the program's own documentation there is another one."""
    story = session().add("database_files", path=PATH, object="item_pkey (index of item)")
    story.add("files", dev=FS, ino=900, path="/usr/lib/postgresql/15/bin/postgres", kind="file")
    story.tables["threads"][0]["comm"] = "postgres"
    orders = [one.do for one in leads(judged(story), "cache-cold", 0.85).fixes]
    assert any("pg_prewarm('item_pkey')" in one for one in orders)
