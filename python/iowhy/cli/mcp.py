"""`iowhy mcp`: recordings for agents, by the Model Context Protocol."""

from dataclasses import dataclass

from iowhy.cli._streams import give_up
from iowhy.options.described import option, switch
from iowhy.options.output import KEEP_SECRETS
from iowhy.quantities import positive_duration_ns

EPILOG = """Examples:

  pip install 'iowhy[mcp]'

  claude mcp add iowhy -- iowhy mcp

Five tools: verdict, reports, report, sql, compare. They read recordings; none records or changes anything.
"""

_MINUTE_NS = 60_000_000_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """How long an answer may take; what is asked comes by the protocol."""

    max_time_ns: int = option(
        "--max-time",
        metavar="TIME",
        default=_MINUTE_NS,
        read=positive_duration_ns,
        help="End a question that has no answer after this time; 1m by default.",
    )
    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)


def command(options: Options) -> None:
    """Answer an agent's questions about recordings, by the Model Context Protocol on stdin and stdout."""
    from iowhy.mcp.server import serve

    try:
        serve(options.max_time_ns / 1e9, keep_secrets=options.keep_secrets)
    except* BrokenPipeError:
        give_up()  # the client is gone
