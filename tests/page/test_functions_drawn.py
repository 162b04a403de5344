"""All time by function, as the page draws it: the budget's time by class, stacks that are deep or have no moment."""

from tests.page.test_recording_page import all_drawn, rows_of, sums
from tests.reports.conftest import MS, Make
from tests.stacks.conftest import MODULES, file, frames, sample, spent, wait


def test_functions_add_up_to_the_budget_by_class(make: Make) -> None:
    taken = {
        1: ("save", "commit", "main"),
        2: ("save", *(f"deep_{at}" for at in range(90)), "main"),
    }
    found = all_drawn(
        recording := make(
            {
                "thread_time": [spent(0, 1000 * MS, user=200 * MS, blocked=600 * MS)],
                "waits": [wait(100 * MS, 500 * MS, "journal_commit", syscall="fsync")],
                "files": [file(2, "/data/a.db")],
                "modules": MODULES,
                "user_stacks": frames(taken),
                "stack_samples": [
                    sample(200 * MS, 200 * MS, 1),
                    sample(600 * MS, 100 * MS, 2),
                    sample(610 * MS, 30 * MS, None),
                    sample(50 * MS, 150 * MS, 1, "cpu"),
                ],
            }
        )
    )["time-of-functions"]
    spent_ns = sums(found, "thread_ns", "class")
    for row in rows_of(recording, "budget"):
        assert spent_ns.get((row["class"],), 0) == row["thread_ns"]
    paths = {path: ns for (path,), ns in sums(found, "thread_ns", "path").items()}
    assert paths["main\x1fcommit\x1fsave"] == 350 * MS
    assert paths["stack not read"] == 30 * MS
    # Of a stack of 92 functions the outer 60 are drawn.
    deep = next(path for path in paths if "deep_89" in str(path))
    assert str(deep).split("\x1f") == ["main", *(f"deep_{at}" for at in range(89, 30, -1))]
    assert paths[deep] == 100 * MS
    # What was not sampled has no moment.
    at = [found.columns.index(name) for name in ("path", "at_s", "span_s")]
    for path, at_s, span_s in ([row[one] for one in at] for row in found.rows):
        assert (at_s is None, span_s is None) == (path == "not sampled",) * 2
    only = make({"thread_time": [spent(0, 1000 * MS)]})
    assert all_drawn(only)["time-of-functions"].missing is not None
