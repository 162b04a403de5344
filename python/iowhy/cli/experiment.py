"""`iowhy experiment`: squeeze or relieve one resource at a time and see what the command answers to."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from iowhy.cli._trials import job
from iowhy.errors import Problem
from iowhy.invocation import joined
from iowhy.masking import masked
from iowhy.messages import json_text, say
from iowhy.options.described import group, option, switch, word
from iowhy.options.output import KEEP_SECRETS, Exports
from iowhy.options.trial_options import Trials
from iowhy.users import leave_root
from iowhy.views.progress import TrialsLine
from iowhy.written_files import put

if TYPE_CHECKING:  # slow to import: NumPy, and DuckDB
    from iowhy.experiments.result import Result
    from iowhy.recordings import Recording
    from iowhy.whys.finding import Finding

EPILOG = """Examples:

  sudo iowhy experiment -- make -j2

  sudo iowhy experiment cpu-quota=0.5 io-contention=30% --metric 'qps: ([0-9.]+)' -- ./bench.sh

  sudo iowhy experiment memory-limit --prepare 'rm -rf out' -- ./encrypt big.bin out

  sudo iowhy experiment --recording slow.iowhy -- ./slow

  iowhy experiment --from published.csv

  iowhy experiment --list
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which levers are pulled on which command, and what becomes of the answer."""

    words: tuple[str, ...] = word(
        "Levers (see --list) with their levels, then the command.",
        default=(),
        metavar="[LEVER[=LEVEL,…]]... [--] CMD [ARG]...",
        begins_command=True,
    )
    list_: bool = switch("--list", help="List the levers, and which can act here.")
    from_: Path | None = option("--from", help="Judge a CSV table of an experiment done elsewhere.")
    recording: Path | None = option(
        "--recording",
        help="The recording whose findings are tested; by itself the newest here.",
    )
    allow_unsafe: bool = switch("--allow-unsafe", help="Let levers run that give up durability.")
    export_markdown: Path | None = option("--export-markdown", help="Save as Markdown.")
    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)
    exports: Exports = group(Exports)
    trials: Trials = group(Trials(max_runs=15), panel="Trials, as in hyperfine")


def is_ours(text: str) -> bool:
    """Whether a word is a lever and not yet the command."""
    from iowhy.experiments.levers import levers

    return text.partition("=")[0] in levers()


def command(options: Options) -> None:
    """Prove a cause: squeeze or relieve one resource at a time and measure how a command answers.

    Without levers it takes those that the recording's findings ask for. Whatever is changed on the
    machine is put back, on every way out.
    """
    if options.list_:
        _list(options)
        return
    from iowhy.experiments import result as results
    from iowhy.views import experiment_page as view
    from iowhy.views.terminal import console

    found = asked_of(options)
    if options.exports.as_json:
        print(json_text(results.as_json(found)))
    else:
        view.show(found, console())
    save(found, options)


def asked_of(options: Options, *, leave: bool = True) -> "Result":
    """What an experiment finds, or the table of one done elsewhere shows. `leave` as of result_of. Raises Problem."""
    options.exports.check(options.export_markdown)
    if options.from_ is None:
        return result_of(options, leave=leave)
    if options.words:
        raise Problem("--from judges a table: no levers or command go with it")
    from iowhy.experiments.table import judge_table

    return judge_table(options.from_)


def save(found: "Result", options: Options) -> None:
    """Writes it where the options say. Raises Problem."""
    from iowhy.experiments import result as results

    if options.exports.export_json is not None:
        results.save_json(options.exports.export_json, found, force=options.exports.force)
    if options.export_markdown is not None:
        from iowhy.views import experiment_page as view

        text = view.markdown(found)
        put(
            options.export_markdown,
            text if options.keep_secrets else masked(text),
            force=options.exports.force,
        )


def result_of(options: Options, *, leave: bool = True) -> "Result":
    """What the experiment found, saved beside its recording. Raises Problem.

    leave: this process has no more need of root's rights after it.
    """
    from iowhy.experiments import result as results
    from iowhy.experiments.experiment import Listener, Request, experiment

    asked, argv = split(options.words)
    trials = options.trials
    made = job(argv, trials)
    known, source, same = _findings(options.recording, argv, asked)
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
        recorded_s=known.seconds,
    )
    line = TrialsLine(trials.quiet)
    try:
        found = experiment(
            request,
            Listener(lambda now: line.trial(now.condition.name, now.done, now.at_most), line.step),
        )
    finally:
        line.end()
    # Nothing that is left to do needs root, and what it is saved beside is the user's.
    if leave:
        leave_root()
    if source is not None:
        try:
            results.save_beside(source, found)
        except Problem as problem:
            # The runs are over: what they showed is still said.
            say(f"not kept beside the recording: {problem}")
    return found


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Levers, then the command: the first word that is no lever begins it."""
    from iowhy.experiments.levers import named

    asked: list[str] = []
    rest = list(words)
    while rest and is_ours(rest[0]):
        asked.append(rest.pop(0))
    if not rest:
        raise Problem("no command: iowhy experiment [LEVER]... -- CMD [ARG]...")
    first = rest[0]
    if len(rest) > 1 and "/" not in first and _lever_misspelt(first):
        named(first)  # raises, with what was perhaps meant
    if len(rest) > 1 and "/" not in first and shutil.which(first) is None:
        raise Problem(f"{first}: neither a lever (`iowhy experiment --list`) nor a command")
    return asked, rest


def _lever_misspelt(text: str) -> bool:
    import difflib

    from iowhy.experiments.levers import levers

    name = text.partition("=")[0]
    near = difflib.get_close_matches(name, levers(), 1, cutoff=0.8)
    return bool(near) and shutil.which(text) is None


def _list(options: Options) -> None:
    from iowhy.experiments.availability import availability
    from iowhy.views import levers as levers_view
    from iowhy.views.terminal import console

    found = availability((options.trials.work_directory or Path.cwd()).resolve())
    if options.exports.as_json:
        print(json_text({"version": 1, "levers": [asdict(one) for one in found]}))
    else:
        levers_view.show(console(), found)


def _changed(path: Path) -> float:
    """When it was changed; what leads nowhere is the oldest, and no reason not to run."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class _Known(Struct, frozen=True):
    """What a recording knows of the command: findings, the files that it used, how long it took without the recorder."""

    findings: tuple["Finding", ...] = ()
    files: tuple[Path, ...] = ()
    seconds: float | None = None


def _known(opened: "Recording") -> _Known:
    from iowhy.whys.facts import facts_of
    from iowhy.whys.facts.used_files import used
    from iowhy.whys.verdict import verdict_of

    with facts_of(opened) as facts:
        verdict = verdict_of(facts)
        return _Known(
            verdict.findings, used(facts.relations, facts.page_bytes), verdict.shares_of_s
        )


def _findings(
    recording: Path | None, argv: Sequence[str], asked: Sequence[str]
) -> tuple[_Known, Path | None, bool]:
    """What is known by the recording named, or by the newest one here of the same command; whether it is the same."""
    from iowhy.recordings import open_recording

    if recording is not None:
        opened = open_recording(recording)
        recorded = opened.manifest.command.argv
        if list(recorded) != list(argv):
            was = f"of `{joined(recorded)}`" if recorded else "no run of a command"
            say(
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
        say(f"testing the findings of {path.name}")
        return known, path, True
    if not asked:
        say("no recording of this command here: trying the usual levers")
    return _Known(), None, True
