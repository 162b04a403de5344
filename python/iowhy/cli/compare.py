"""`iowhy compare`: did a change help, and what changed at each layer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy.cli._boxed import enter
from iowhy.cli._statuses import NO
from iowhy.commands.compare import TOO_FEW, grown_of, growths_of, trials_of
from iowhy.errors import Problem
from iowhy.experiments.interval import Interval
from iowhy.messages import json_text, say
from iowhy.options.compare import Options
from iowhy.views.progress import TrialsLine
from iowhy.written_files import put

if TYPE_CHECKING:  # slow to import
    from iowhy.expect import Growth

EPILOG = """Examples:

  iowhy compare before.iowhy after.iowhy

  iowhy compare --fail-on-regression 5% main/ branch/

  iowhy compare --fail-on 'sync_calls > +0' --fail-on 'device.written_bytes > +10 %' a.iowhy b.iowhy

  iowhy compare --baseline j1.iowhy j2.iowhy j2-cached.iowhy two-disks.iowhy

  iowhy compare --export-json found.json before.iowhy after.iowhy

  iowhy compare --prepare 'make clean' -- 'make -j1' --vs 'make -j2'
"""


def command(options: Options) -> None:
    """Compare recordings, sets of recordings, or commands: time, layers, findings."""
    from iowhy.comparisons.comparison import regressed, resolvable

    options.exports.check()
    growths = growths_of(options)
    sides = [*options.sides]
    for text in options.others:
        sides += ["--vs", text]
    line = TrialsLine(options.trials.quiet)
    if "--vs" in sides:
        slower = _commands(options, split_commands(sides), line)
    elif len(sides) < 2:
        raise Problem("one-recording")
    elif options.baseline:
        slower = _log(options, sides, line)
    else:
        slower = _recordings(options, sides, line)
    failed = _grown(options, growths, sides)
    if options.limit is not None:
        failed |= any(regressed(one, options.limit) for one in slower)
        if not failed and not all(map(resolvable, slower)):
            raise Problem("too-few-recordings", too_few=TOO_FEW)
    if failed:
        raise SystemExit(NO)


def _grown(options: Options, growths: "list[Growth]", sides: Sequence[str]) -> bool:
    """Whether a measure grew by more than it may, from the first side to one after it; each is said."""
    if not growths:
        return False
    from iowhy.comparisons.sides import open_sides

    found = grown_of(options, growths, open_sides(sides))
    for one in found:
        if not one.held:
            say(one.sentence)
    if any(one.held is False for one in found):
        return True
    if any(one.held is None for one in found):
        raise Problem("fail-on-unknown")
    return False


def _commands(options: Options, commands: Sequence[str], line: TrialsLine) -> list[Interval | None]:
    from iowhy.experiments import result as results
    from iowhy.views import comparison_page as view
    from iowhy.views.terminal import console

    try:
        result, found = trials_of(options, commands, line)
    finally:
        line.end()
    if options.exports.export_json is not None:
        results.save_json(options.exports.export_json, result, force=options.exports.force)
    if options.exports.as_json:
        print(json_text(results.as_json(result)))
    else:
        view.show_commands(result, found, console())
    return [one.slower for one in found]


def _log(options: Options, sides: Sequence[str], line: TrialsLine) -> list[Interval | None]:
    from iowhy.comparisons.comparison import log
    from iowhy.comparisons.sides import open_sides
    from iowhy.views import comparison_json
    from iowhy.views import comparison_page as view
    from iowhy.views.terminal import console

    enter(sides, [options.exports.export_json])
    try:
        steps = log(open_sides(sides, line.step), line.step)
    finally:
        line.end()
    text = json_text([comparison_json.step_json(step) for step in steps])
    _save(options, text)
    if options.exports.as_json:
        print(text)
    else:
        view.show_log(steps, console())
    return [steps[-1].against_baseline]


def _recordings(options: Options, sides: Sequence[str], line: TrialsLine) -> list[Interval | None]:
    from iowhy.comparisons.comparison import compare_all
    from iowhy.comparisons.sides import open_sides
    from iowhy.views import comparison_json
    from iowhy.views import comparison_page as view
    from iowhy.views.terminal import console

    enter(sides, [options.exports.export_json])
    try:
        found = compare_all(open_sides(sides, line.step), line.step)
    finally:
        line.end()
    text = json_text([comparison_json.as_json(one) for one in found])
    _save(options, text)
    if options.exports.as_json:
        print(text)
        return [one.slower for one in found]
    out = console()
    for index, one in enumerate(found):
        if index:
            out.print()
        view.show(one, out, whole=options.evidence)
    return [one.slower for one in found]


def _save(options: Options, text: str) -> None:
    if options.exports.export_json is not None:
        put(options.exports.export_json, text + "\n", force=options.exports.force)


def split_commands(words: Sequence[str]) -> list[str]:
    """``CMD A --vs CMD B``: each command is one word, for the shell if it has blanks."""
    parts: list[list[str]] = [[]]
    for text in words:
        if text == "--vs":
            parts.append([])
        else:
            parts[-1].append(text)
    for part in parts:
        if len(part) != 1:
            raise Problem("compared-commands-unquoted")
    return [part[0] for part in parts]
