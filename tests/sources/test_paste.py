"""A paste with several tools in it."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iowhy.messages import say
from iowhy.sources import reading
from iowhy.sources.formats import formats
from iowhy.sources.names import Names
from iowhy.sources.paste import NUMBERS

from .reading import FIXTURES, intervals, quick, taken_apart


def text_of(name: str) -> str:
    return (FIXTURES / name).read_text()


INCIDENT = f"""\
Folks, uploads are slow again. What I see:

[admin@upload-1 ~]$ iostat -xz 2
{text_of("pagecache-large.iostat.txt")}^C
[admin@upload-1 ~]$ free -m
{text_of("pagecache-large.free.txt")}
and the cache looks bad to me:

```
$ sudo ./cachestat
{text_of("pagecache-large.cachestat.txt")}```
root@upload-1:/usr/share/bcc/tools# ./biolatency -m
{text_of("pagecache-large.biolatency.txt")}# ./bitesize
{text_of("pagecache-large.bitesize.txt")}
Any ideas?
"""


def test_incident_is_split_at_prompts_prose_and_fences() -> None:
    result = taken_apart(INCIDENT)
    assert [part.format for part in result.parts] == [
        "iostat", "free", "cachestat", "biolatency", "bitesize",
    ]  # fmt: skip
    lines = INCIDENT.splitlines()
    unread = [(n, text) for n, text in result.unread]
    unread += [one for part in result.parts for one in part.parsed.rejects]
    # Prose is listed with its line, and nothing else is.
    assert sorted(text for _, text in unread) == sorted(
        [
            "Folks, uploads are slow again. What I see:",
            "^C",
            "and the cache looks bad to me:",
            "Any ideas?",
        ]
    )
    assert all(lines[number - 1] == text for number, text in unread)
    # What was typed gives the interval.
    assert result.parts[0].parsed.intervals[0].interval_ns == 2 * 10**9


def test_the_same_from_windows_with_colours_and_indentation() -> None:
    coloured = INCIDENT.replace("xvdb", "\x1b[1;31mxvdb\x1b[0m").replace("\n", "\r\n")
    result = taken_apart(coloured)
    plain = taken_apart(INCIDENT)
    assert [part.parsed.intervals for part in result.parts] == [
        part.parsed.intervals for part in plain.parts
    ]
    quoted = "See below.\n\n" + "\n".join(
        "    " + line for line in text_of("pagecache-large.free.txt").splitlines()
    )
    assert [part.format for part in taken_apart(quoted).parts] == ["free"]


def test_utf16_of_a_windows_shell() -> None:
    from iowhy.sources.names import Names
    from iowhy.sources.paste import decode, split

    data = text_of("pagecache-large.free.txt").encode("utf-16")
    assert [part.format for part in split(decode(data, "x"), "x", Names()).parts] == ["free"]


def test_a_rewritten_line_counts_as_shown() -> None:
    """A progress display rewrites its line: what stood last is what was seen."""
    text = "reading 10%\rreading 99%\r" + text_of("pagecache-large.free.txt")
    assert [part.format for part in taken_apart(text).parts] == ["free"]


def test_signs_that_are_no_prompts() -> None:
    """A table may begin with % or #: `% time` of strace -c is a header, not a command."""
    text = "# Time        UID       PID    %usr\n% time     seconds  usecs/call\n> quoted words\n"
    assert [number for number, _ in taken_apart(text).unread] == [1, 2, 3]


def test_two_runs_stay_two_parts() -> None:
    twice = text_of("pagecache-large.iostat.txt") + "\n" + text_of("pagecache-small.iostat.txt")
    result = taken_apart(twice)
    assert [part.format for part in result.parts] == ["iostat", "iostat"]
    # Each has a first report since boot of its own.
    assert [len(intervals(part.parsed, "cpu_samples")) for part in result.parts] == [4, 3]


def test_repeated_header_goes_on() -> None:
    lines = text_of("build-j1.freebsd-vmstat.txt").splitlines()
    again = "\n".join([*lines, *lines[:2], *lines[3:]])
    (part,) = taken_apart(again).parts
    assert len(intervals(part.parsed, "cpu_samples")) == 9 + 9


PIECES = [
    "pagecache-large.free.txt",
    "pagecache-large.cachestat.txt",
    "build-j1.freebsd-vmstat.txt",
    "aix-vmstat.txt",
    "case1-sparse.fileplace.txt",
    "hyperfine.json",
    "mpstat-12-all.txt",
    "iostat-9-comma.txt",
]


@quick
@given(
    order=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4, unique=True),
    prose=st.lists(st.from_regex(r"[A-Z][a-z]{2,8}( [a-z]{2,8}){0,4}[.:]", fullmatch=True),
                   min_size=4, max_size=4),
)  # fmt: skip
def test_any_order_and_any_prose(order: list[str], prose: list[str]) -> None:
    text = ""
    for name, words in zip(order, prose, strict=False):
        text += words + "\n\n" + text_of(name) + "\n"
    result = taken_apart(text)
    alone = [taken_apart(text_of(name)).parts[0] for name in order]
    assert [part.format for part in result.parts] == [part.format for part in alone]
    for found, one in zip(result.parts, alone, strict=True):
        assert found.parsed.intervals == one.parsed.intervals
        assert found.parsed.tables == one.parsed.tables
    said = [text for _, text in result.unread]
    said += [text for part in result.parts for _, text in part.parsed.rejects]
    assert sorted(said) == sorted(prose[: len(order)])


@example("-0--0")
@given(st.text("0123456789 .,:%+/-", max_size=60))
def test_lines_of_numbers_begin_no_output(line: str) -> None:
    assert NUMBERS.fullmatch(line)
    assert not [form.name for form in formats() if form.hint is not None and form.hint.search(line)]


def test_a_pipe_without_a_writer_says_what_it_waits_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "WRITER_MS", 1)
    os.mkfifo(tmp_path / "pipe")
    said = threading.Event()
    monkeypatch.setattr(reading, "say", lambda words: (said.set(), say(words)))

    def write() -> None:
        said.wait(60)
        (tmp_path / "pipe").write_text(text_of("pagecache-large.free.txt"))

    writer = threading.Thread(target=write)
    writer.start()
    parts, unread, _ = reading.read(str(tmp_path / "pipe"), Names(), None, reading.silent)
    writer.join()
    assert [part.format for part in parts] == ["free"] and not unread
    assert "waiting for a program to write to it" in capsys.readouterr().err


def test_a_pipe_without_a_writer_says_so_off_a_terminal(tmp_path: Path) -> None:
    """As a script starts it: what is waited for is on stderr while nobody writes, not when all is done."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [
        sys.executable,
        "-m",
        "iowhy.cli.main",
        "diagnose",
        "-o",
        str(tmp_path / "out.iowhy"),
    ]
    with subprocess.Popen(
        [*command, str(pipe)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as running:
        try:
            assert running.stderr is not None
            # Were it not said, or kept in a buffer, the first line would be another, or none.
            assert f"{pipe}: waiting for a program to write to it" in running.stderr.readline()
            pipe.write_text(text_of("pagecache-large.free.txt"))
            out, _ = running.communicate()
        finally:
            running.kill()
    assert running.returncode == 0 and "free" in out
