"""A question of an agent, answered by its own process: it ends when its time is over, and when nobody waits for it any more.

    python -m iowhy.mcp.worker

reads a question (a line of JSON: the tool and its words) and writes the answer. It ends at once when its standard input ends.
"""

import json
import os
import sys
import threading
from typing import Any

from iowhy.errors import Problem
from iowhy.messages import json_text, printable

COMMAND = (sys.executable, "-m", "iowhy.mcp.worker")


async def answered(tool: str, words: dict[str, Any], within_s: float) -> Any:
    """What a tool of `iowhy.mcp.tools` gives. Raises Problem as it does, and when there is no answer in time."""
    import anyio

    from iowhy.recordings.query_limits import remove_left_behind

    asked = json.dumps([tool, words]).encode() + b"\n"
    async with await anyio.open_process(COMMAND, stderr=None) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            with anyio.fail_after(within_s):
                await process.stdin.send(asked)
                said = b"".join([part async for part in process.stdout])
                status = await process.wait()
        except TimeoutError:
            raise Problem(
                f"{tool}: no answer within {within_s:g} s (--max-time of `iowhy mcp`); ask for less: since, until, pid, or a WHERE"
            ) from None
        except anyio.BrokenResourceError:
            said, status = b"", await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                with anyio.CancelScope(shield=True):
                    await process.wait()
                remove_left_behind()
    if not said:
        raise Problem(f"{tool}: no answer: its process ended with status {status}")
    answer = json.loads(said)
    if "problem" in answer:
        raise Problem(answer["problem"])
    return answer["answer"]


def main() -> None:
    """See the module's text."""
    from iowhy.mcp import tools

    tool, words = json.loads(_line())
    threading.Thread(target=_end_with_who_asked, daemon=True).start()
    try:
        found = {"answer": getattr(tools, tool)(**words)}
    except Problem as problem:
        found = {"problem": printable(str(problem))}
    sys.stdout.write(json_text(found))


def _line() -> bytes:
    """The first line of the standard input, of which nothing else is read yet."""
    with os.fdopen(0, "rb", closefd=False) as stdin:
        return stdin.readline()


def _end_with_who_asked() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
