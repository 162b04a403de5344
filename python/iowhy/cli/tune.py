"""`iowhy tune`: tries settings of this machine, and says which makes a command faster."""

from pathlib import Path

from iowhy.commands.tune import tune
from iowhy.options.tune import Options
from iowhy.views.progress import TrialsLine

__all__ = ["EPILOG", "Options", "command"]

EPILOG = """Examples:

  sudo iowhy tune -- ./import.sh

  sudo iowhy tune --prepare 'rm -rf out' --within 5m --keep read-ahead.rules -- ./encrypt big.bin out

  iowhy tune --list
"""


def command(options: Options) -> None:
    """Try settings of this machine that could make a command faster, one at a time.

    A recording of the command says which are worth a try. Trials are those of `iowhy experiment`: in random order, reset,
    watched for others. The machine is left as it was, on every way out; --keep writes what makes the best setting last.
    """
    from iowhy.views import tune_page

    if options.list_:
        from iowhy.tuning.listing import listed

        where = (options.trials.work_directory or Path.cwd()).resolve()
        rows = listed(where, allow_unsafe=options.allow_unsafe)
        tune_page.print_listed(rows, as_json=options.as_json)
        return
    line = TrialsLine(options.trials.quiet)
    try:
        found = tune(options, line)
    finally:
        line.end()
    tune_page.print_tuned(found, options.keep, as_json=options.as_json)
