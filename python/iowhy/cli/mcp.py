"""`iowhy mcp`: recordings for agents, by the Model Context Protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from iowhy.cli._streams import give_up
from iowhy.errors import Problem
from iowhy.masking import masked, masked_json
from iowhy.options.described import option, switch
from iowhy.options.output import KEEP_SECRETS
from iowhy.quantities import positive_duration_ns
from iowhy.version import VERSION

EPILOG = """Examples:

  pip install 'iowhy[mcp]'

  claude mcp add iowhy -- iowhy mcp

Five tools: verdict, reports, report, sql, compare. They read recordings; none records or changes anything.
"""

_INSTRUCTIONS = (
    "Questions about recordings of iowhy: begin with verdict. Numbers are measured; null is unknown, never 0. Times are in ns, "
    "sizes in bytes. To make a recording somebody types: sudo iowhy run -- CMD"
)

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
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise Problem(
            "the MCP SDK is not installed, or older than 2: pip install 'iowhy[mcp]'"
        ) from None
    from iowhy.api.tools import TOOLS

    # What an agent asks wrongly it is told itself; its terminal need not be.
    server = MCPServer("iowhy", instructions=_INSTRUCTIONS, version=VERSION, log_level="WARNING")
    reads = ToolAnnotations(readOnlyHint=True, openWorldHint=False)
    for tool in TOOLS:
        server.tool(annotations=reads)(_saying(tool, ToolError, options))
    try:
        server.run("stdio")
    except* BrokenPipeError:
        give_up()  # the client is gone


def _saying(
    tool: Callable[..., Any], error: type[Exception], options: Options
) -> Callable[..., Any]:
    """The tool, whose Problems reach the agent as they are: they say the way out."""
    from iowhy.api.apart import answered

    @wraps(tool)
    async def called(**words: Any) -> Any:
        try:
            found = await answered(tool.__name__, words, options.max_time_ns / 1e9)
            return found if options.keep_secrets else masked_json(found)
        except Problem as problem:
            said = str(problem)
            raise error(said if options.keep_secrets else masked(said)) from None

    return called
