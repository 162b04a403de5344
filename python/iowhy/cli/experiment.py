"""`iowhy experiment`: squeeze or relieve one resource at a time and see what the command answers to."""

from pathlib import Path

from msgspec.structs import asdict

from iowhy.commands.experiment import experiment, is_ours
from iowhy.messages import json_text
from iowhy.options.experiment import Options
from iowhy.views.progress import TrialsLine

__all__ = ["EPILOG", "Options", "command", "is_ours"]

EPILOG = """Examples:

  sudo iowhy experiment -- make -j2

  sudo iowhy experiment cpu-quota=0.5 io-contention=30% --metric 'qps: ([0-9.]+)' -- ./bench.sh

  sudo iowhy experiment memory-limit --prepare 'rm -rf out' -- ./encrypt big.bin out

  sudo iowhy experiment --recording slow.iowhy -- ./slow

  iowhy experiment --from published.csv

  iowhy experiment --list
"""


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

    line = TrialsLine(options.trials.quiet)
    try:
        found = experiment(options, line)
    finally:
        line.end()
    if options.exports.as_json:
        print(json_text(results.as_json(found)))
    else:
        view.show(found, console(), whole=options.evidence)
    view.save(found, options)


def _list(options: Options) -> None:
    from iowhy.experiments.availability import availability
    from iowhy.views import levers as levers_view
    from iowhy.views.terminal import console

    found = availability((options.trials.work_directory or Path.cwd()).resolve())
    if options.exports.as_json:
        print(json_text({"version": 1, "levers": [asdict(one) for one in found]}))
    else:
        levers_view.show(console(), found)
