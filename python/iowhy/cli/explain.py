"""`iowhy explain`: what a cause is, how it is measured, and what helps."""

from dataclasses import dataclass
from difflib import get_close_matches

from iowhy.errors import Problem
from iowhy.options.described import needed

EPILOG = """Examples:

  iowhy explain list
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy explain` is asked."""

    cause: str = needed(
        "The name at the end of a verdict's first line; `list` shows all.", metavar="CAUSE"
    )


def command(options: Options) -> None:
    """Explain a cause: how it is measured, what would fool it, remedies and their risks."""
    from rich.markdown import Markdown

    from iowhy.views.terminal import console
    from iowhy.whys.cause_pages import explained
    from iowhy.whys.causes import causes

    known = {one.name: one for one in causes()}
    if options.cause == "list":
        for one in known.values():
            print(f"{one.name:<22}{one.title}")
        return
    if options.cause not in known:
        near = get_close_matches(options.cause, known, 1)
        meant = f"; did you mean `iowhy explain {near[0]}`?" if near else ";"
        raise Problem("no-such-cause", cause=options.cause, meant=meant)
    console().print(Markdown(explained(known[options.cause]), hyperlinks=False))
