"""A remedy that asks its author for a change is told as the program's language has it."""

import pytest

from iowhy.whys.causes import causes
from iowhy.whys.finding import CodeFrame
from iowhy.whys.language import code_for, languages, of_stack, ways

from .conftest import Judge
from .made import KIB, MS
from .test_own_syncs import synced_by


def test_each_language_names_what_there_is() -> None:
    assert {cause for asked in ways().values() for cause in asked.causes} <= {
        one.name for one in causes()
    }
    for one in languages():
        assert set(one.ways) <= set(ways()) and {"sync-once", "larger-calls"} <= set(one.ways), (
            one.name
        )
        assert one.executables or one.functions or one.sources, one.name
        for way in one.ways.values():
            assert way.before.count("\n") == 0 and way.after.strip().count("\n") <= 1, one.name
            assert way.link.startswith("https:"), one.name
    assert len(languages()) == 10 and code_for("sync-storm").count("before") >= 10


@pytest.mark.parametrize(
    ("frames", "language"),
    [
        (("write libc.so.6", "_io_write python3.11", "main python3.11 /build/main.c"), "Python"),
        (("os.(*File).Sync store", "main.save store", "runtime.goexit store"), "Go"),
        (("sync store /src/store.rs", "std::rt::lang_start store"), "Rust"),
        (("save store /src/store.c", "_start store"), "C and C++"),
        (("sqlite3_step libsqlite3.so.0 /src/sqlite3.c", "save store /src/store.rs"), None),
        (("force libnio.so", "run jit", "thread libjvm.so"), "Java"),
        # A library that the program uses syncs: that is not done in the program's language.
        (("Flush _duckdb.cpython-311.so", "call python3.11"), None),
        (("save store",), None),
    ],
)
def test_a_stack_says_whose_code_calls(frames: tuple[str, ...], language: str | None) -> None:
    path = []
    for text in frames:
        name, module, file = (*text.split(), None)[:3]
        path.append(CodeFrame(str(name), name, module, file, 1 if file else None))
    found = of_stack(path)
    assert (found.name if found else None) == language


@pytest.mark.parametrize(
    ("name", "tid", "argv", "told"),
    [
        ("python3", 11, ("made",), True),
        ("python3", 10, ("made",), False),  # another process syncs
        ("java", 11, ("java", "-jar", "/home/me/queue.jar"), True),
        ("java", 11, ("java", "-jar", "/opt/queue/queue.jar"), False),
        ("git", 11, ("made",), False),
    ],
)
def test_the_interpreter_that_syncs_says_how(
    judged: Judge, name: str, tid: int, argv: tuple[str, ...], told: bool
) -> None:
    story = synced_by(name, tid, argv=argv)
    story.requests(100, op="write", bytes_=4 * KIB).flushes(100, 4 * MS)
    first = judged(story).findings[0]
    assert any("(Python: `" in one or "(Java: `" in one for one in first.remedies) is told
