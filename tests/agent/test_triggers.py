"""How long a condition must hold, and how many recordings there may be."""

from pathlib import Path

import pytest

from iowhy.agent import conditions, triggers
from iowhy.agent.conditions import Scope
from iowhy.agent.triggers import HOUR_NS, Budget, Fired, Watch
from tests.agent.made import S, interval, latency


def fires(watch: Watch, *held: bool) -> list[bool]:
    looked = [list(watch.look(interval(latency()) if holds else interval())) for holds in held]
    return [bool(found) for found in looked]


def test_a_condition_holds_without_a_break_for_its_time() -> None:
    at_once = Watch({"a": conditions.read("fsync p99 > 50 ms")})
    assert fires(at_once, True, False, True) == [True, False, True]
    later = Watch({"a": conditions.read("fsync p99 > 50 ms for 30 s")})
    assert fires(later, True, True, False, True, True, True) == [False] * 5 + [True]
    # Intervals are not to the nanosecond what they are meant to be.
    close = Watch({"a": conditions.read("fsync p99 > 50 ms for 10 s")})
    assert list(close.look(interval(latency(), length_ns=10 * S - 5_000_000)))


def test_what_fired_is_said_with_its_value() -> None:
    (found,) = Watch({"a": conditions.read("fsync p99 > 50 ms")}).look(interval(latency()))
    assert found.why == "fsync p99 > 50 ms: at least 50.3 ms of db"
    (found,) = Watch({"a": conditions.read("threads in D > 8")}).look(interval(waiting=12))
    assert found.why == "threads in D > 8: 12 of the machine"
    watch = Watch({"a": conditions.read("io pressure some > 20 %")})
    (found,) = watch.look(interval(pressure={"io": {"some": 0.25}}))
    assert found.why == "io pressure some > 20 %: 25 % of the machine"


def fired(name: str, of: str = "db") -> Fired:
    return Fired(name, "why", of, conditions.read("fsync p99 > 50 ms"))


def test_each_service_holds_for_itself() -> None:
    watch = Watch({"a": conditions.read("fsync p99 > 50 ms for 20 s")})
    db, other = latency(), latency(service="other")
    assert not list(watch.look(interval(db)))
    assert not list(watch.look(interval(other)))  # neither for 20 s
    assert [one.of for one in watch.look(interval(db, other))] == ["other"]


def test_cool_down_and_budget_are_each_triggers(tmp_path: Path) -> None:
    budget = Budget(tmp_path, cool_down_ns=60 * S, per_hour=2)
    now, by_hand = 10 * HOUR_NS, Fired("by-hand", "asked")
    assert budget.refusal(by_hand, now) is None
    budget.start(by_hand, now)
    assert budget.refusal(by_hand, now + 59 * S) == "cool_down"
    assert budget.refusal(fired("a"), now + S) is None
    budget.end(by_hand, now + 30 * S)
    assert budget.refusal(by_hand, now + 89 * S) == "cool_down"
    assert budget.refusal(by_hand, now + 90 * S) is None
    budget.start(by_hand, now + 90 * S)
    assert budget.refusal(by_hand, now + 200 * S) == "budget"
    assert budget.refusal(fired("a"), now + 200 * S) is None
    assert budget.refusal(by_hand, now + HOUR_NS) is None


def test_a_loud_service_leaves_half_of_a_triggers_hour_to_the_others(tmp_path: Path) -> None:
    budget = Budget(tmp_path, cool_down_ns=S, per_hour=4)
    now, loud, db = 10 * HOUR_NS, fired("a", "writer"), fired("a")
    budget.start(loud, now)
    assert [one.of for one in budget.fairest([loud, db])] == ["db", "writer"]
    budget.start(loud, now + 10 * S)
    assert budget.refusal(loud, now + 20 * S) == "budget"
    assert budget.refusal(db, now + 20 * S) is None
    limited = conditions.limited(conditions.read("fsync p99 > 50 ms"), Scope("writer"), 3)
    alone = Fired("a", "why", "writer", limited)
    assert budget.refusal(alone, now + 20 * S) is None
    budget.start(alone, now + 20 * S)
    assert budget.refusal(alone, now + 40 * S) == "budget"


def test_what_was_started_counts_once_whatever_became_of_the_agent(tmp_path: Path) -> None:
    now = triggers.boot_ns()
    Budget(tmp_path, 60 * S, 2).start(fired("a"), now)
    # Killed here: the next one knows.
    again = Budget(tmp_path, 60 * S, 2)
    assert again.state.started == {"a": 1}
    assert again.refusal(fired("a"), now + S) == "cool_down"


def test_another_boot_has_another_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Budget(tmp_path, 60 * S, 1).start(fired("a"), 10 * HOUR_NS)
    boot = tmp_path / "boot"
    boot.write_text("another")
    monkeypatch.setattr(triggers, "BOOT", boot)
    again = Budget(tmp_path, 60 * S, 1)
    assert (again.state.started, again.refusal(fired("a"), 5)) == ({"a": 1}, None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"started": 5}', '{"boot": "x", "started": {}}'])
def test_a_damaged_state_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / triggers.STATE).write_text(text)
    assert Budget(tmp_path, S, 1).state.started == {}
