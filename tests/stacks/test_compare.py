"""`iowhy compare`: which paths changed, and near misses."""

from pathlib import Path

from iowhy.comparisons.code_paths import ChangedPath, changed_paths
from iowhy.recordings import Recording
from iowhy.relations import Relations
from tests.command_line import invoke
from tests.reports.conftest import Make, call
from tests.stacks.conftest import MODULES, MS, frames, sample, spent, wait

STACKS = frames({1: ("fsync", "commit", "main"), 2: ("fsync", "log", "main")})


def made(make: Make, commit_ms: int, log_ms: int, sampled: bool = True) -> Recording:
    blocked = commit_ms + log_ms
    tables = {
        "thread_time": [spent(0, 2000 * MS, blocked=blocked * MS)],
        "waits": [wait(0, blocked * MS, "journal_commit", syscall="fsync")],
        "syscalls": [
            call(at * blocked * MS // 30, blocked * MS // 30, "fsync") for at in range(30)
        ],
        "modules": MODULES,
        "user_stacks": STACKS,
        "stack_samples": [
            sample(1 * MS, commit_ms * MS, 1),
            sample(2 * MS, log_ms * MS, 2),
        ],
    }
    kept = {name: rows for name, rows in tables.items() if sampled or name != "stack_samples"}
    return make(kept, end_s=2.0)


def test_the_path_that_changed_is_named(make: Make) -> None:
    before, after = made(make, 900, 300), made(make, 100, 330)
    (found,) = _changed(before, after)
    assert (found.path, found.before_ns, found.after_ns) == (
        "fsync ← commit ← main",
        900 * MS,
        100 * MS,
    )
    done = invoke(["compare", "--evidence", str(before.path), str(after.path)])
    assert "fsync ← commit ← main" in done.output and "log" not in done.output


def test_without_stacks_on_both_sides_nothing_is_said_of_paths(make: Make) -> None:
    assert _changed(made(make, 900, 300), made(make, 100, 300, sampled=False)) == ()


def _changed(before: Recording, after: Recording) -> tuple[ChangedPath, ...]:
    with Relations(before) as one, Relations(after) as other:
        return changed_paths(one, other)


def test_a_page_for_others_names_no_functions(make: Make, tmp_path: Path) -> None:
    before, after = made(make, 900, 300), made(make, 100, 330)
    two = [str(before.path), str(after.path)]
    for words in (two, ["--redact", *two], ["--redact", two[0]]):
        to = tmp_path / f"{len(words)}.html"
        done = invoke(["html", *words, "-o", str(to)])
        assert done.exit_code == 0, done.output
        assert ("fsync ← commit" in to.read_text()) is (words is two)
        to.unlink()
