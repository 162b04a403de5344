"""`iowhy mcp` as an agent has it: a client of the official SDK, over the server's stdin and stdout."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from iowhy.undo import process
from tests.command_line import invoke
from tests.expect.test_expectations import syncing
from tests.numbers_told import tells

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


def asked(folder: Path, ask: Callable[[Any], Awaitable[Any]], *options: str) -> Any:
    """What a client has of a server that was started in the folder."""
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "iowhy", "mcp", *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=str(folder),
    )

    async def session() -> Any:
        async with stdio_client(server) as streams, mcp.ClientSession(*streams) as client:
            client.begun = await client.initialize()  # type: ignore[attr-defined]
            return await ask(client)

    return asyncio.run(asyncio.wait_for(session(), 120))


def test_each_tool_answers_a_client_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    rec = {"recording": "made.iowhy"}
    calls: dict[str, dict[str, object]] = {
        "verdict": rec,
        "what_if": rec,
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
    assert not any(tool.annotations.open_world_hint for tool in listed)
    assert not [name for name, answer in answers.items() if answer.is_error]
    verdict = json.loads(answers["verdict"].content[0].text)
    assert verdict == json.loads(invoke(["why", "made.iowhy", "--json"]).stdout)
    rows = json.loads(answers["sql"].content[0].text)
    assert (len(rows["rows"]), rows["more"]) == (7, True)
    # Apart from all prose: what others named is a value of a key.
    assert answers["sql"].structured_content == rows
    for answer in answers.values():
        parts = [json.loads(part.text) for part in answer.content]
        assert answer.structured_content in (parts[0], {"result": parts})
    assert sorted(folder.rglob("*")) == before


def test_a_model_is_warned_of_what_others_wrote(folder: Path) -> None:
    async def ask(client: Any) -> Any:
        return client.begun.instructions

    said = asked(folder, ask)
    (of_others,) = [one for one in said.split(". ") if "never instructions" in one]
    assert tells(of_others, "files", "programs", "arguments", "statements", "log lines", "data")


#: Has no end that anybody waits for.
ENDLESS = "SELECT count(*) FROM range(100000000000) AS a, range(100000) AS b"


def test_a_question_without_an_answer_ends_and_the_next_is_answered(folder: Path) -> None:
    asks = [ENDLESS, "SELECT repeat('x', 50000000) AS big, [1, 2] AS list, now() AS at"]

    async def ask(client: Any) -> Any:
        return [
            await client.call_tool("sql", {"recording": "made.iowhy", "select": text})
            for text in asks
        ]

    endless, large = asked(folder, ask, "--max-time", "8s")
    assert endless.is_error and tells(endless.content[0].text, "8 s")
    (row,) = json.loads(large.content[0].text)["rows"]
    assert row["big"] == f"{'x' * 4096}… (cut, 50000000 characters)"
    assert row["list"] == "[1, 2]"


@pytest.mark.parametrize("closed", [("stdin",), ("stdout",), ("stdout", "stdin")], ids="+".join)
def test_it_ends_with_its_client_and_says_nothing(
    folder: Path, closed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = os.urandom(8).hex()
    monkeypatch.setenv("IOWHY_TEST", mark)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    server = subprocess.Popen(
        [sys.executable, "-m", "iowhy", "mcp"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with server:
        assert server.stdin is not None and server.stdout is not None
        about = {"protocolVersion": "2025-03-26", "capabilities": {}}
        begin = about | {"clientInfo": {"name": "test", "version": "1"}}
        words = {"recording": "made.iowhy", "select": ENDLESS}
        for number, method, given in (
            (1, "initialize", begin),
            (None, "notifications/initialized", {}),
            (2, "tools/call", {"name": "sql", "arguments": words}),
        ):
            message = {"jsonrpc": "2.0", "method": method, "params": given}
            message |= {} if number is None else {"id": number}
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            if number == 1:
                server.stdout.readline()
        while len(process.marked("IOWHY_TEST", mark).found) < 2:
            assert server.poll() is None
            time.sleep(0.05)
        for name in closed:
            getattr(server, name).close()
        assert server.stderr is not None and server.stderr.read() == b""
        assert server.wait() == 0
    assert process.marked("IOWHY_TEST", mark).found == []


def test_what_is_wrong_is_said_to_the_agent_in_one_line(folder: Path) -> None:
    wrong = [
        ("verdict", {"recording": "no.iowhy"}, "no such recording"),
        (
            "report",
            {"recording": "made.iowhy", "name": "no"},
            "no such report; `iowhy report --list`",
        ),
        ("sql", {"recording": "made.iowhy", "select": "DROP TABLE syscalls"}, "give one SELECT"),
        ("sql", {"recording": "made.iowhy"}, "select"),
    ]

    async def ask(client: Any) -> Any:
        return [await client.call_tool(name, words) for name, words, _ in wrong]

    for (name, _, says), answer in zip(wrong, asked(folder, ask), strict=True):
        text = answer.content[0].text
        assert answer.is_error and says in text and "Traceback" not in text, (name, text)
