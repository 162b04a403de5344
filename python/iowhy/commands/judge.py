"""Hold a recording against what is expected of it: expectations, a project, a baseline of counts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.invocation import joined, typed
from iowhy.masking import masked, masked_words, unmasked
from iowhy.messages import printable
from iowhy.options.budgets import Budgets
from iowhy.project_file import find_project

if TYPE_CHECKING:  # slow to import
    from iowhy.expect import Expectation, Outcome
    from iowhy.expect.baseline import Baseline
    from iowhy.expect.project import Project
    from iowhy.recordings import Recording
    from iowhy.whys.verdict import Verdict


class Expected(Struct, frozen=True):
    """What was read before the run: expectations, those of the project, and the baseline.

    `unread`: why a baseline that was asked for could not be read.
    """

    options: Budgets
    given: "Sequence[Expectation]" = ()
    project: "Project | None" = None
    baseline: "Baseline | None" = None
    unread: str | None = None

    @property
    def anything(self) -> bool:
        """Whether there may be something to hold the run against, or to keep of it."""
        return bool(self.given or self.project or self.baseline or self.unread)

    @property
    def say(self) -> Callable[[str], str]:
        """How texts that are passed on are shown."""
        return unmasked if self.options.keep_secrets else masked

    def name(self, argv: Sequence[str]) -> str:
        """What a run of a command is called."""
        words = argv if self.options.keep_secrets else masked_words(argv)
        return self.options.name or joined(words)


class Judged(Struct, frozen=True):
    """What became of it: `name` is what the run is called.

    `errors`: why it could not be held against a baseline that was asked for, or kept in it. `unknown`: why a project
    that says what is expected of some commands says nothing of this one. `notes`: what is to be said of the baseline.
    """

    name: str = ""
    outcomes: "Sequence[Outcome]" = field(default=())
    errors: tuple[str, ...] = ()
    unknown: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """A sentence for each that is broken or not known."""
        return (*(one.sentence for one in self.outcomes if not one.held), *self.errors)

    @property
    def held(self) -> bool:
        """Whether all holds that was expected."""
        return self.unknown is None and not self.broken


def expected_of(options: Budgets, *, runs: bool = False) -> Expected:
    """Everything that is expected. Raises Problem for what makes no sense, before anything takes time.

    `runs`: a command is run, which a baseline that is missing or damaged does not keep from running.
    """
    options.check()
    given = []
    if options.expected:
        from iowhy.expect import read_expectation

        given = [read_expectation("--expect", text) for text in options.expected]
    project = _project(options.config)
    path = options.baseline or (project.baseline if project is not None else None)
    if options.update and path is None:
        raise Problem("update-needs-baseline")
    baseline = unread = None
    if path is not None:
        from iowhy.expect.baseline import read_baseline

        try:
            baseline = read_baseline(path, new=options.update)
        except Problem as problem:
            if not runs or options.update:
                raise
            unread = str(problem)
    return Expected(options, given, project, baseline, unread)


def _project(path: Path | None) -> "Project | None":
    found = path or find_project(Path.cwd())
    if found is None:
        return None
    from iowhy.expect.project import read_project

    return read_project(found)


def judge(recording: "Recording", verdict: "Verdict", asked: Expected) -> Judged:
    """What became of it in a recording, whose counts are then in the baseline if it is to be updated."""
    if not asked.anything:
        return Judged()
    from iowhy.expect import outcomes

    argv = recording.manifest.command.argv
    name = asked.name(argv)
    expected = list(asked.given)
    # Of what ran already, and of the machine, a project expects nothing: it names commands.
    unknown = None
    if asked.project is not None and argv:
        expected += asked.project.expected(argv, asked.options.name)
        if not asked.project.knows(argv, asked.options.name):
            unknown = f"no [[command]] of {typed(asked.project.path)} is for this command: {printable(name)}"
    errors = [] if asked.unread is None else [asked.unread]
    notes = []
    if asked.baseline is not None and asked.options.update:
        try:
            notes.append(_kept(recording, asked.baseline, name))
        except Problem as problem:
            notes.append(str(problem))
            errors.append(str(problem))
    elif asked.baseline is not None:
        expected += asked.baseline.expected(name)
        if name not in asked.baseline.commands:
            path = asked.baseline.path
            notes.append(
                f"{path}: knows no run called {name!r}: add it with --update, or name one with --name"
            )
            # A project's baseline is of its own commands; one that was asked for is meant for this run.
            if asked.options.baseline is not None:
                errors.append(f"the baseline knows no run called {name!r}")
        elif not asked.baseline.expected(name):
            notes.append(
                f"{asked.baseline.path}: holds nothing yet: {asked.baseline.summary(name)}"
            )
    found = outcomes(recording, verdict, expected) if expected else ()
    return Judged(name, found, tuple(errors), unknown, tuple(notes))


def _kept(recording: "Recording", baseline: "Baseline", name: str) -> str:
    """This run's counts into the baseline, unless what ran has failed; what became of it. Raises Problem."""
    from iowhy.expect.baseline import counts

    path = baseline.path
    ended = recording.manifest.command
    if ended.signal is not None or ended.exit_status:
        return f"{path}: left as it was: the command failed"
    found = counts(recording)
    if not name or not found:
        why = "give the run a --name" if found else "the run has no count that is known for sure"
        return f"{path}: left as it was: {why}"
    kept = baseline.with_run(name, found)
    kept.save()
    return f"{path}: {kept.summary(name)}"
