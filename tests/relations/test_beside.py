"""Two threads ask one recording: what they find is what one finds alone."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, current_thread

import duckdb
import pytest

from iowhy import overview as overviews
from iowhy.overview import Overview, overview
from iowhy.recordings import Recording, open_recording, open_tables
from iowhy.relations import Relations, opened
from tests.reports.conftest import MS, Make, request

RECORDINGS = Path(__file__).parents[2] / "docs" / "recordings"
COUNT = "SELECT count(*) AS count FROM command_requests"


@pytest.fixture
def recording(make: Make) -> Recording:
    return make({"block_requests": [request(0, MS), request(MS, MS)]})


def shown(found: Overview) -> tuple[object, ...]:
    return found.verdict, found.threads, found.calls, found.devices, found.files


def test_what_another_thread_asks_is_asked_once(recording: Recording) -> None:
    asked = Event()

    def steps() -> Iterator[object]:
        yield relations.rows(COUNT)
        asked.set()

    with Relations.of(recording) as relations:
        relations.ask_beside(steps())
        assert asked.wait(60)
        relations._answer = never  # type: ignore[method-assign]
        assert relations.rows(COUNT) == [(2,)]


def never(sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    raise AssertionError(f"asked again: {sql}")


def test_what_fails_beside_is_an_error_where_it_is_needed(recording: Recording) -> None:
    with Relations.of(recording) as relations:
        relations.ask_beside(relations.rows(sql) for sql in ("SELECT 1 FROM nowhere", COUNT))
        assert relations.rows(COUNT) == [(2,)]
        with pytest.raises(Exception, match="nowhere"):
            relations.rows("SELECT 1 FROM nowhere")


def test_it_ends_with_its_recording(recording: Recording) -> None:
    begun, taken = Event(), []

    def steps() -> Iterator[object]:
        for number in range(1_000_000):
            taken.append(relations.rows(f"SELECT {number}"))
            begun.set()
            yield

    with Relations.of(recording) as relations:
        relations.ask_beside(steps())
        assert begun.wait(60)
    assert 0 < len(taken) < 1_000_000
    assert relations._beside is not None and not relations._beside._thread.is_alive()


def one_that_lasts(relations: Relations, begun: Event) -> Iterator[object]:
    """Sets `begun`, then asks what nobody waits for to the end."""
    yield relations.rows(COUNT)
    begun.set()
    yield relations.rows(
        "SELECT sum(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b"
    )


def test_a_long_query_of_its_is_broken_off(recording: Recording) -> None:
    begun = Event()
    with Relations.of(recording) as relations:
        relations.ask_beside(one_that_lasts(relations, begun))
        assert begun.wait(60)
    assert relations._beside is not None and not relations._beside._thread.is_alive()


def test_memory_that_another_thread_has_is_given_back(recording: Recording) -> None:
    begun = Event()
    with Relations.of(recording) as relations:
        answer, refused = relations._answer, []

        def short_of_memory(sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
            if other.is_alive() and current_thread() is not other:
                refused.append(sql)
                raise duckdb.OutOfMemoryException("no room for both")
            return answer(sql)

        relations.ask_beside(one_that_lasts(relations, begun))
        assert begun.wait(60)
        assert relations._beside is not None
        other = relations._beside._thread
        relations._answer = short_of_memory  # type: ignore[method-assign]
        assert relations.rows("SELECT 1") == [(1,)]
        assert refused == ["SELECT 1"]
        # Where nobody else has any, it is an error.
        relations._answer = refusing  # type: ignore[method-assign]
        with pytest.raises(duckdb.OutOfMemoryException):
            relations.rows("SELECT 2")


def refusing(sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    raise duckdb.OutOfMemoryException(f"no room: {sql}")


def test_many_rows_are_asked_by_one_thread(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "ROWS_FOR_TWO", 1)
    taken = []
    with Relations.of(recording) as relations:
        relations.ask_beside(taken.append(number) for number in range(3))
        assert relations._beside is not None
        relations._beside._thread.join(60)
        assert not relations._beside._thread.is_alive()
    assert taken == []


@pytest.mark.parametrize("name", ["noisy", "short-of-space", "sixteen-readers"])
def test_verdict_and_reports_are_those_of_one_thread(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = open_recording(RECORDINGS / f"{name}.iowhy.zip")
    two = shown(overview(recording))
    monkeypatch.setattr(Relations, "ask_beside", lambda *_: None)
    assert shown(overview(recording)) == two


@pytest.mark.parametrize("name", ["noisy", "short-of-space", "sixteen-readers"])
def test_verdict_and_reports_are_those_of_all_passes_and_threads_of_duckdb(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = open_recording(RECORDINGS / f"{name}.iowhy.zip")
    quick = shown(overview(recording))
    monkeypatch.setattr(open_tables, "SMALL_BYTES", -1)
    assert shown(overview(recording)) == quick


def test_what_is_asked_beside_is_what_an_overview_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_recording(RECORDINGS / "noisy.iowhy.zip")
    monkeypatch.setattr(Relations, "ask_beside", lambda *_: None)
    steps, beside = [], set()
    with overviews.facts_of(recording) as facts:
        facts.relations._shared = True
        steps = list(overviews._last_first(facts))
        beside = set(facts.relations._asked._made)
    asked: set[str] = set()
    real = Relations.table

    def table(self: Relations, sql: str) -> object:
        asked.add(sql)
        return real(self, sql)

    monkeypatch.setattr(Relations, "table", table)
    overview(recording)
    assert len(steps) > 20
    assert len(beside) > 20 and beside <= asked
