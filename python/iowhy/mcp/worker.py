"""A question of an agent, answered by its own process: it ends when its time is over, and when nobody waits for it any more.

    python -m iowhy.mcp.worker

reads a question (a line of JSON: the tool and its words) and writes the answer. It ends at once when its standard input ends.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from iowhy.errors import Problem
from iowhy.messages import json_text, printable
from iowhy.recordings import box
from iowhy.sentences import described, named

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
            raise Problem("tool-too-slow", tool=tool, within_s=within_s) from None
        except anyio.BrokenResourceError:
            said, status = b"", await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                with anyio.CancelScope(shield=True):
                    await process.wait()
                remove_left_behind()
    if not said:
        raise Problem("tool-ended", tool=tool, status=status)
    answer = json.loads(said)
    if "problem" in answer:
        said = answer["problem"]
        raise Problem(named(said["id"], printable(said["sentence"]), **said["values"]))
    return answer["answer"]


def main() -> None:
    """See the module's text."""
    from iowhy.mcp import tools
    from iowhy.recordings.object_store import is_stored

    box.own()
    tool, words = json.loads(_line())
    # Where one is fetched first, the tool opens it with this process's rights.
    if not any(isinstance(word, str) and is_stored(Path(word)) for word in words.values()):
        box.enter()
    threading.Thread(target=_end_with_who_asked, daemon=True).start()
    try:
        found = {"answer": getattr(tools, tool)(**words)}
    except Problem as problem:
        found = {"problem": described(problem.sentence)}
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
