"""Try settings of this machine that could make a command faster."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy.commands.experiment import findings_for
from iowhy.commands.trials import Progress, job, listener
from iowhy.errors import Problem
from iowhy.options.tune import Options
from iowhy.users import leave_root
from iowhy.whys.causes import cause_named
from iowhy.whys.finding import Finding

if TYPE_CHECKING:  # slow to import: NumPy
    from iowhy.tuning.search import Tuned


def tune(options: Options, progress: Progress, *, leave: bool = True) -> "Tuned":
    """What helps, and by how much. `leave`: this process has no more need of root's rights after it. Raises Problem."""
    from iowhy.tuning.knob import Clues
    from iowhy.tuning.search import Request
    from iowhy.tuning.search import tune as run
    from iowhy.written_files import check_free, put

    if not options.words:
        raise Problem("tune-of-what")
    if options.keep is not None:
        check_free(options.keep, options.force)
    trials = options.trials
    known, _, same = findings_for(options.recording, options.words, ("tune",), progress)
    if not same or not known.shares:
        progress.note(
            "no recording of this command here: with one (`iowhy run -- CMD`) the most promising settings come first"
        )
    clues = Clues(
        known.shares,
        troubles_of(known.findings),
        {one.change: one.times.value for one in known.predicted},
        known.direct_reads,
        known=bool(known.shares),
        allow_unsafe=options.allow_unsafe,
    )
    request = Request(
        job=job(options.words, trials),
        clues=clues,
        most_tries=options.tries,
        within_s=options.within_ns / 1e9,
        most=trials.max_runs,
        runs=trials.runs,
        seed=trials.seed,
        cache=trials.cache,
        files=known.files if same else (),
        recorded_s=known.seconds if same else None,
    )
    found = run(request, listener(progress))
    if leave:
        leave_root()
    if options.keep is not None and found.kept is not None:
        put(options.keep, _file(found), force=options.force)
    return found


def troubles_of(findings: Sequence[Finding]) -> dict[str, float]:
    """What findings are to settings: the largest share of each trouble."""
    found: dict[str, float] = {}
    for one in findings:
        cause = cause_named(one.cause)
        if cause is not None and cause.trouble is not None:
            found[cause.trouble] = max(one.share, found.get(cause.trouble, 0.0))
    return found


def _file(found: "Tuned") -> str:
    """The file of a setting, after what it is and how it comes and goes."""
    kept = found.kept
    assert kept is not None
    return (
        f"# {found.best}\n# Place: {kept.place}\n# Apply: {kept.apply}\n# Undo:  {kept.undo}\n"
        f"{kept.text}"
    )
