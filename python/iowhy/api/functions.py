"""The functions of the API. Their options are those of the command line, by the same descriptions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from iowhy.api.answers import Answer, Opened
from iowhy.errors import Problem
from iowhy.options.keywords import from_keywords, text_of, texts_of
from iowhy.sentences import changed

Place = str | PathLike[str]

#: Options of `iowhy run` that only a terminal has a use for, and what a program does instead.
_OF_RUN = {
    "json": "ask what record() returns: .json()",
    "live": "leave it out, and look with `iowhy top` while it runs",
}

#: The same of `iowhy experiment` and `iowhy compare`.
_ANSWERED = {
    "json": "ask what is returned: .json()",
    "list": "there is `iowhy experiment --list`",
}

#: What is recorded where there is no command.
_RUNNING = ("pid", "container", "cgroup", "pod", "all")


def open(path: Place) -> Opened:
    """A recording. Raises Problem if there is none that can be read."""
    found = Opened(Path(text_of("iowhy.open: path", path, "the path of a recording")))
    _ = found.recording
    return found


def record(argv: Sequence[str], output: Place | None = None, **options: Any) -> Opened:
    """Runs a command under the recorder, as `iowhy run -- ARGV`; its streams are this process's.

    options: those of `iowhy run`, `--max-time 2m` as `max_time="2m"`; with `pid=`, `container=` or `all=True` argv is
    empty. How the command ended is `exit_status` of what is returned, what it broke of what was expected is `broken`.
    Raises Problem where it cannot be recorded, and for an option that only a terminal has a use for.
    """
    from iowhy.commands import judge
    from iowhy.commands.record import planned
    from iowhy.commands.record import record as carry_out
    from iowhy.options.record import Options, check
    from iowhy.views.judged import publish

    words = texts_of("iowhy.record: argv", argv, "the words of the command: ['make', '-j2']")
    asked = from_keywords(
        Options,
        "iowhy.record",
        {"argv": words, "output": _new_place("iowhy.record", output)},
        options,
        _OF_RUN,
    )
    if not words and not any(options.get(one) for one in _RUNNING):
        raise Problem("api-nothing-to-record", running=", ".join(f"{one}=" for one in _RUNNING))
    if asked.sudo and asked.on is None:
        raise Problem("api-sudo-without-host")
    try:
        check(asked)
        expected = judge.expected_of(asked.budgets)
    except Problem as problem:
        raise Problem(changed(problem.sentence, f"iowhy.record: {problem}")) from None
    plan = planned(asked)
    try:
        carry_out(plan)
    except SystemExit as ended:
        raise _not_recorded(asked.argv, ended.code) from None
    found = Opened(plan.out)
    if not expected.anything:
        return found
    judged = judge.judge(found.recording, found.verdict, expected)
    publish(judged, expected, found.verdict)
    return Opened(plan.out, judged.broken)


def _not_recorded(argv: Sequence[str], status: object) -> Problem:
    """Why the recorder has ended, by its exit status, which is a shell's (sh(1)) for what cannot be run."""
    if argv and status == 127:
        return Problem("command-not-found", command=argv[0])
    if argv and status == 126:
        return Problem("command-not-a-program", command=argv[0])
    return Problem("nothing-was-recorded")


def _new_place(function: str, output: Place | None) -> Path | None:
    return None if output is None else Path(text_of(f"{function}: output", output))


@contextmanager
def recording(output: Place | None = None, *, mode: str = "auto") -> Iterator[Opened]:
    """Records this process, and what it starts, while the block runs; then what it gives can be asked.

    output: where it is kept, python.iowhy here by default. mode: as of `iowhy run`. Without the rights for eBPF it
    records from /proc alone. Raises Problem where it cannot record.
    """
    from iowhy.sources.aside import aside

    if mode not in ("auto", "bpf", "proc"):
        raise Problem("mode-unknown", mode=mode)
    with aside():
        from iowhy.options.recordings import check_new
        from iowhy.sources.live import name_for
        from iowhy.sources.this_process import recorded

        place = _new_place("iowhy.recording", output) or name_for(["python"], Path.cwd())
        check_new(place)
    with recorded(place, mode=mode):
        yield Opened(place)


def experiment(*words: str, **options: Any) -> Answer:
    """Levers, then the command, as `iowhy experiment cpu-quota=0.5 -- make -j2`; `result` has the trials.

    options: those of `iowhy experiment`, `--runs 5` as `runs=5`. Raises Problem as the command does, and for an option
    that only a terminal has a use for.
    """
    from iowhy.commands.experiment import experiment as carry_out
    from iowhy.experiments import result as results
    from iowhy.options.experiment import Options
    from iowhy.views import experiment_page
    from iowhy.views.progress import TrialsLine

    words = texts_of("iowhy.experiment: words", words, "levers and a command")
    if "--" in words:  # as on the command line, where it is not of the command
        at = words.index("--")
        words = (*words[:at], *words[at + 1 :])
    given = {"quiet": True, **options}
    asked = from_keywords(Options, "iowhy.experiment", {"words": words}, given, _ANSWERED)
    line = TrialsLine(asked.trials.quiet)
    try:
        found = carry_out(asked, line, leave=False)
    finally:
        line.end()
    experiment_page.save(found, asked)
    return Answer(
        found,
        lambda: results.as_json(found),
        lambda out: experiment_page.show(found, out, whole=True),
    )


def compare(*sides: Place | Opened, **options: Any) -> Answer:
    """Recordings, or directories of them, against the first; `result` has a comparison for each of the others.

    options: those of `iowhy compare`. With `vs`, a command or a list of them, the one side is a command too, and they
    are run interleaved: `iowhy.compare("make -j1", vs="make -j2", runs=5)`; `result` then has the trials. What
    `fail_on` and `fail_on_regression` forbid is in `broken`. Raises Problem as the command does.
    """
    from iowhy.api.compared import of_commands, of_recordings
    from iowhy.options.compare import Options

    places = tuple(one.path if isinstance(one, Opened) else one for one in sides)
    words = texts_of("iowhy.compare: sides", places, "recordings or a command")
    given = {"quiet": True, **options}
    asked = from_keywords(Options, "iowhy.compare", {"sides": words}, given, _ANSWERED)
    try:
        return of_commands(asked) if asked.others else of_recordings(asked, list(options))
    except Problem as problem:
        raise Problem(changed(problem.sentence, f"iowhy.compare: {problem}")) from None
