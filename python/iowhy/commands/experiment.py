"""Prove a cause: squeeze or relieve one resource at a time, and see what a command answers to."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from iowhy.commands.trials import Progress, job, listener
from iowhy.errors import Problem
from iowhy.invocation import joined
from iowhy.options.experiment import Options
from iowhy.users import leave_root
from iowhy.whys.proof_time import USUAL_S

if TYPE_CHECKING:  # slow to import: NumPy, and DuckDB
    from iowhy.experiments.predicted import Predicted
    from iowhy.experiments.result import Result
    from iowhy.recordings import Recording
    from iowhy.whys.finding import Finding


def is_ours(text: str) -> bool:
    """Whether a word is a lever and not yet the command."""
    from iowhy.experiments.levers import levers

    return text.partition("=")[0] in levers()


def experiment(options: Options, progress: Progress, *, leave: bool = True) -> "Result":
    """What an experiment finds, or the table of one done elsewhere shows. `leave`: this process has no more need of root's rights after it. Raises Problem."""
    options.exports.check(options.export_markdown)
    if options.from_ is None:
        return _result_of(options, progress, leave=leave)
    if options.words:
        raise Problem("from-with-command")
    from iowhy.experiments.table import judge_table

    return judge_table(options.from_)


def _result_of(options: Options, progress: Progress, *, leave: bool) -> "Result":
    """What the experiment found, saved with its recording."""
    from iowhy.experiments import result as results
    from iowhy.experiments.experiment import Request
    from iowhy.experiments.experiment import experiment as run

    asked, argv = split(options.words)
    if _not_found(argv[0]):
        raise Problem("no-such-lever", first=argv[0])
    trials = options.trials
    made = job(argv, trials)
    known, source, same = findings_for(options.recording, argv, asked, progress)
    request = Request(
        job=made,
        levers=asked,
        runs=trials.runs,
        least=trials.min_runs,
        most=trials.max_runs,
        warmup=trials.warmup,
        seed=trials.seed,
        cache=trials.cache,
        allow_unsafe=options.allow_unsafe,
        findings=known.findings,
        files=known.files if same else (),
        recording=None if source is None else str(source),
        same_command=same,
        recorded_s=known.seconds if same else None,
        within_s=_within_s(options),
        predicted=known.predicted if same else (),
    )
    found = run(request, listener(progress))
    # Nothing that is left to do needs root, and what it is saved beside is the user's.
    if leave:
        leave_root()
    if source is not None:
        try:
            results.save_beside(source, found)
        except Problem as problem:
            # The runs are over: what they showed is still said.
            progress.note(f"not kept next to the recording: {problem}")
    return found


def _within_s(options: Options) -> float | None:
    """The bound: the one that is given, else none for so many runs as are asked for."""
    if options.within_ns is not None:
        return options.within_ns / 1e9
    return None if options.trials.runs is not None else USUAL_S


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Levers, then the command: the first word that is no lever begins it."""
    from iowhy.experiments.levers import named

    asked: list[str] = []
    rest = list(words)
    while rest and is_ours(rest[0]):
        asked.append(rest.pop(0))
    if not rest:
        raise Problem("experiment-of-what")
    first = rest[0]
    if len(rest) > 1 and _not_found(first):
        if _lever_misspelt(first):
            named(first)  # raises, with what was perhaps meant
        raise Problem("no-such-lever", first=first)
    return asked, rest


def _not_found(command: str) -> bool:
    """Whether it is one word, which no program is called; a line for the shell has blanks in it."""
    return "/" not in command and command.split() == [command] and shutil.which(command) is None


def _lever_misspelt(text: str) -> bool:
    import difflib

    from iowhy.experiments.levers import levers

    name = text.partition("=")[0]
    near = difflib.get_close_matches(name, levers(), 1, cutoff=0.8)
    return bool(near)


def _changed(path: Path) -> float:
    """When it was changed; what leads nowhere is the oldest, and no reason not to run."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class _Known(Struct, frozen=True):
    """What a recording knows of the command: findings, the files that it used, how long it took without the recorder, what changes would make of it, shares of its time by class, and of it in reads past the page cache."""

    findings: tuple["Finding", ...] = ()
    files: tuple[Path, ...] = ()
    seconds: float | None = None
    predicted: tuple["Predicted", ...] = ()
    shares: Mapping[str, float] = {}
    direct_reads: float = 0.0


def _known(opened: "Recording") -> _Known:
    from iowhy.experiments.interval import Interval
    from iowhy.experiments.predicted import Predicted
    from iowhy.model.predictions import predictions_of
    from iowhy.whys import classes
    from iowhy.whys.facts import facts_of
    from iowhy.whys.facts.used_files import used
    from iowhy.whys.verdict import verdict_of

    with facts_of(opened) as facts:
        verdict = verdict_of(facts)
        return _Known(
            verdict.findings,
            used(facts.relations, facts.page_bytes),
            verdict.shares_of_s,
            tuple(
                Predicted(
                    one.id,
                    Interval(
                        one.after_s / one.before_s,
                        one.low_s / one.before_s,
                        one.high_s / one.before_s,
                    ),
                )
                for one in predictions_of(opened, facts.relations).predictions
            ),
            {name: verdict.budget.elapsed(name) for name in classes.ALL}
            if verdict.budget.known
            else {},
            dict(verdict.budget.heaviest_reasons(frozenset({classes.READ}))).get("direct_io", 0.0),
        )


def findings_for(
    recording: Path | None, argv: Sequence[str], asked: Sequence[str], progress: Progress
) -> tuple[_Known, Path | None, bool]:
    """What is known by the recording named, or by the newest one here of the same command; whether it is the same."""
    from iowhy.recordings import open_recording

    if recording is not None:
        opened = open_recording(recording)
        recorded = opened.manifest.command.argv
        if list(recorded) != list(argv):
            was = f"of `{joined(recorded)}`" if recorded else "no run of a command"
            progress.note(
                f"{recording} is {was}: its findings choose the levers, but are neither confirmed nor refuted"
            )
        return _known(opened), recording, list(recorded) == list(argv)
    newest = sorted(Path.cwd().glob("*.iowhy"), key=_changed, reverse=True)
    for path in newest[:20]:
        try:
            opened = open_recording(path)
            if list(opened.manifest.command.argv) != list(argv):
                continue
            known = _known(opened)
        except Problem:
            continue
        progress.note(f"testing the findings of {path.name}")
        return known, path, True
    if not asked:
        progress.note("no recording of this command here: trying the usual levers")
    return _Known(), None, True
