"""The functions of the API. Their options are those of the command line, by the same descriptions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from iowhy.api.answers import Answer, Opened
from iowhy.errors import Problem
from iowhy.options.keywords import from_keywords

Place = str | PathLike[str]


def open(path: Place) -> Opened:
    """A recording. Raises Problem where there is none that can be read."""
    found = Opened(Path(path))
    _ = found.recording
    return found


def record(argv: Sequence[str], output: Place | None = None, **options: Any) -> Opened:
    """Runs a command under the recorder, as `iowhy run -- ARGV`; its streams are this process's.

    options: those of `iowhy run`, `--max-time 2m` as `max_time="2m"`. How the command ended is `exit_status` of what is
    returned. Raises Problem where it cannot be recorded.
    """
    from iowhy.cli import run
    from iowhy.options.recordings import check_new
    from iowhy.sources.live import name_for

    if isinstance(argv, str):
        raise Problem("give the words of the command: iowhy.record(['make', '-j2'])")
    asked = from_keywords(run.Options, "iowhy.record", {"argv": tuple(map(str, argv))}, options)
    place = Path(output) if output is not None else name_for(list(asked.argv), Path.cwd())
    check_new(place)
    try:
        run.record_asked(asked, place)
    except SystemExit:
        raise Problem("nothing was recorded; the recorder has said why on stderr") from None
    return Opened(place)


@contextmanager
def recording(output: Place | None = None, *, mode: str = "auto") -> Iterator[Opened]:
    """Records this process, and what it starts, while the block runs; then what it gives can be asked.

    output: where it is kept, by itself python.iowhy here. mode: as of `iowhy run`. Without the rights for eBPF it
    records from /proc alone. Raises Problem where it cannot record.
    """
    from iowhy.options.recordings import check_new
    from iowhy.sources.live import name_for
    from iowhy.sources.ongoing import recorded

    if mode not in ("auto", "bpf", "proc"):
        raise Problem(f"mode {mode}: choose auto, bpf or proc")
    place = Path(output) if output is not None else name_for(["python"], Path.cwd())
    check_new(place)
    with recorded(place, mode=mode):
        yield Opened(place)


def experiment(*words: str, **options: Any) -> Answer:
    """Levers, then the command, as `iowhy experiment cpu-quota=0.5 -- make -j2`; `result` has the trials.

    options: those of `iowhy experiment`, `--runs 5` as `runs=5`. Raises Problem as the command does.
    """
    from iowhy.cli import experiment as command
    from iowhy.experiment import result as results
    from iowhy.views import experiment_page

    options = {"quiet": True, **options}
    if "--" in words:  # as on the command line, where it is not of the command
        at = words.index("--")
        words = (*words[:at], *words[at + 1 :])
    asked = from_keywords(command.Options, "iowhy.experiment", {"words": words}, options)
    found = command.result_of(asked, leave=False)
    return Answer(
        found, lambda: results.as_json(found), lambda out: experiment_page.show(found, out)
    )


def compare(*sides: Place | Opened, **options: Any) -> Answer:
    """Recordings, or directories of them, against the first; `result` has a comparison for each of the others.

    options: with `vs`, a command or a list of them, the one side is a command too, and they are run interleaved:
    `iowhy.compare("make -j1", vs="make -j2", runs=5)`, with the options of `iowhy compare` for trials; `result` then
    has the trials. Raises Problem as the command does.
    """
    if options:
        return _compare_commands([str(one) for one in sides], options)
    from iowhy.compare.comparison import compare_all
    from iowhy.compare.sides import open_sides
    from iowhy.views import comparison_json, comparison_page

    if len(sides) < 2:
        raise Problem(
            "give at least two: iowhy.compare('before.iowhy', 'after.iowhy'), or a command and vs='another one'"
        )
    places = [str(one.path if isinstance(one, Opened) else one) for one in sides]
    found = compare_all(open_sides(places))

    def draw(out: Any) -> None:
        for one in found:
            comparison_page.show(one, out)

    return Answer(found, lambda: [comparison_json.as_json(one) for one in found], draw)


def _compare_commands(sides: Sequence[str], options: dict[str, Any]) -> Answer:
    from iowhy.cli import compare as command
    from iowhy.experiment import result as results
    from iowhy.views import comparison_page
    from iowhy.views.progress import TrialsLine

    asked = from_keywords(
        command.Options, "iowhy.compare", {"sides": tuple(sides)}, {"quiet": True, **options}
    )
    if not asked.others or len(sides) != 1:
        raise Problem("iowhy.compare: options are for commands: give one, and the others as vs=")
    line = TrialsLine(asked.trials.quiet)
    result, found = command.trials_of(asked, [*sides, *asked.others], line)
    return Answer(
        result,
        lambda: results.as_json(result),
        lambda out: comparison_page.show_commands(result, found, out),
    )
