"""What several threads need is made by one of them."""

from threading import Barrier, Event, Thread

import pytest

from iowhy.recording.once import Once


def test_who_comes_while_it_is_made_waits_and_takes_it() -> None:
    once, begun, go = Once(), Event(), Event()
    made: list[str] = []
    taken: list[str] = []

    def slowly() -> str:
        made.append("first")
        begun.set()
        assert go.wait(60)
        return "thing"

    first = Thread(target=lambda: taken.append(once.make("name", slowly)))
    second = Thread(target=lambda: taken.append(once.make("name", lambda: made.append("again"))))
    first.start()
    assert begun.wait(60)
    assert "name" not in once
    second.start()
    # Another name does not wait for it.
    assert once.make("other", lambda: 1) == 1
    go.set()
    first.join(60)
    second.join(60)
    assert (made, taken) == (["first"], ["thing", "thing"])
    assert "name" in once


def test_what_failed_is_made_by_who_needs_it_next() -> None:
    once = Once()
    with pytest.raises(ZeroDivisionError):
        once.make("name", lambda: 1 // 0)
    assert "name" not in once
    assert once.make("name", lambda: 2) == 2


def test_it_is_made_once_whoever_comes_first() -> None:
    once, together = Once(), Barrier(4)
    made: list[int] = []

    def come() -> None:
        together.wait(60)
        for number in range(200):
            once.make(str(number), lambda number=number: made.append(number))

    threads = [Thread(target=come) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(made) == list(range(200))
