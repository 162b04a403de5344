"""`iowhy mcp`: recordings for agents, by the Model Context Protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from iowhy.errors import Problem
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


@dataclass(frozen=True, kw_only=True)
class Options:
    """It has none: what is asked comes by the protocol."""


def command(_options: Options) -> None:
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
        server.tool(annotations=reads)(_saying(tool, ToolError))
    server.run("stdio")


def _saying(tool: Callable[..., Any], error: type[Exception]) -> Callable[..., Any]:
    """The tool, whose Problems reach the agent as they are: they say the way out."""

    @wraps(tool)
    def called(*words: Any, **options: Any) -> Any:
        try:
            return tool(*words, **options)
        except Problem as problem:
            raise error(str(problem)) from None

    return called
