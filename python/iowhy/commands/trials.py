"""Trials of a command: from their options to the job that is run, and what shows how far they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from iowhy.errors import Problem
from iowhy.experiments import metric
from iowhy.experiments.job import Job
from iowhy.options.trial_options import Trials
from iowhy.users import invoking_user

if TYPE_CHECKING:  # slow to import: NumPy
    from iowhy.experiments.listener import Listener


class Progress(Protocol):
    """What shows how far trials are."""

    def step(self, text: str) -> None:
        """Something other than a trial."""

    def trial(self, name: str, done: int, at_most: int) -> None:
        """Before each trial."""

    def note(self, text: str) -> None:
        """What is worth a line that stays."""


def listener(progress: Progress) -> "Listener":
    """Shows trials there."""
    from iowhy.experiments.listener import Listener

    return Listener(
        lambda now: progress.trial(now.condition.name, now.done, now.at_most),
        progress.step,
        progress.note,
    )


def job(command: Sequence[str], trials: Trials) -> Job:
    """What the options ask to be run. Raises Problem naming the one that makes no sense."""
    where = (trials.work_directory or Path.cwd()).resolve()
    if not where.is_dir():
        raise Problem("work-directory-not-directory", where=where)
    data = None if trials.data_directory is None else trials.data_directory.resolve()
    if data is not None and not data.is_dir():
        raise Problem("data-directory-not-directory", data=data)
    if trials.min_runs > trials.max_runs:
        raise Problem("min-runs-above-max-runs", min_runs=trials.min_runs, max_runs=trials.max_runs)
    if trials.input_ is not None and not trials.input_.is_file():
        raise Problem("input-not-file", input=trials.input_)
    measured = None
    if trials.metric is not None:
        measured = metric.parse(trials.metric, trials.lower_is_better, trials.unit)
    return Job(
        command=tuple(command),
        directory=where,
        data_directory=data,
        prepare=trials.prepare,
        conclude=trials.conclude,
        setup=trials.setup,
        cleanup=trials.cleanup,
        cache=trials.cache or "as-is",
        timeout_s=trials.timeout_s,
        ignore_failure=trials.ignore_failure,
        show_output=trials.show_output,
        input_file=None if trials.input_ is None else trials.input_.resolve(),
        metric=measured,
        user=invoking_user(),
    )
