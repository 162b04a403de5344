"""`iowhy mcp` as an agent has it: a client of the official SDK, over the server's stdin and stdout."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import invoke
from tests.expect.test_expectations import syncing

try:
    import mcp
    from mcp.client.stdio import stdio_client
except ImportError:
    # requirements.lock has it; an environment that was made from an older one may not.
    if os.environ.get("CI") == "true":
        raise
    pytest.skip("the MCP SDK is not installed: make test", allow_module_level=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    syncing(300).write(tmp_path / "made.iowhy")
    return tmp_path


def asked(folder: Path, ask: Callable[[Any], Awaitable[Any]]) -> Any:
    """What a client has of a server that was started in the folder."""
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "iowhy", "mcp"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=str(folder),
    )

    async def session() -> Any:
        async with stdio_client(server) as streams, mcp.ClientSession(*streams) as client:
            await client.initialize()
            return await ask(client)

    return asyncio.run(asyncio.wait_for(session(), 120))


def test_each_tool_answers_a_client_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    rec = {"recording": "made.iowhy"}
    calls: dict[str, dict[str, object]] = {
        "verdict": rec,
        "reports": {},
        "report": {**rec, "name": "syscalls"},
        "sql": {**rec, "select": "FROM syscalls", "limit": 7},
        "compare": {"before": "made.iowhy", "after": "made.iowhy"},
    }

    async def ask(client: Any) -> Any:
        listed = (await client.list_tools()).tools
        return listed, {name: await client.call_tool(name, words) for name, words in calls.items()}

    before = sorted(folder.rglob("*"))
    listed, answers = asked(folder, ask)
    assert {tool.name for tool in listed} == set(calls)
    assert all(tool.annotations.read_only_hint for tool in listed)
    assert not [name for name, answer in answers.items() if answer.is_error]
    verdict = json.loads(answers["verdict"].content[0].text)
    assert verdict == json.loads(invoke(["why", "made.iowhy", "--json"]).stdout)
    rows = json.loads(answers["sql"].content[0].text)
    assert (len(rows["rows"]), rows["more"]) == (7, True)
    assert sorted(folder.rglob("*")) == before


def test_what_is_wrong_is_said_to_the_agent_in_one_line(folder: Path) -> None:
    wrong = [
        ("verdict", {"recording": "no.iowhy"}, "no such recording"),
        ("report", {"recording": "made.iowhy", "name": "no"}, "no such report; there are"),
        ("sql", {"recording": "made.iowhy", "select": "DROP TABLE syscalls"}, "give one SELECT"),
        ("sql", {"recording": "made.iowhy"}, "select"),
    ]

    async def ask(client: Any) -> Any:
        return [await client.call_tool(name, words) for name, words, _ in wrong]

    for (name, _, says), answer in zip(wrong, asked(folder, ask), strict=True):
        text = answer.content[0].text
        assert answer.is_error and says in text and "Traceback" not in text, (name, text)
