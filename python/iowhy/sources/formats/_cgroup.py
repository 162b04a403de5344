"""Whose a copy of a control group's file is: its path, from the command, from "==> … <==" or from grep's "name:"."""

import re
from collections import defaultdict
from collections.abc import Iterator

from iowhy.sources.format import Block, Parsed

#: What stands for the group where no path is shown.
UNNAMED = "control group"
#: What part of what happened a single copy shows.
SINCE_IT_BEGAN = "counts since the control group began, not of one time"
_PATH = re.compile(r"(/\S*?)/[\w.]+\.(?:stat|pressure|max|events)\b")
_PREFIX = re.compile(r"(?:(/\S*\.\w+):)?(.*)")


def group_of(text: str) -> str | None:
    """The group in the path of one of its files: /sys/fs/cgroup/a/b/cpu.stat is /a/b."""
    found = _PATH.search(text)
    if found is None:
        return None
    inner = re.sub(
        r"^/sys/fs/cgroup(?:/(?:unified|cpu,cpuacct|cpuacct|cpu|memory|blkio))?", "", found[1]
    )
    return inner or "/"


def lines(block: Block, parsed: Parsed) -> Iterator[tuple[int, str, str, str]]:
    """(number, group, line without grep's prefix, line) of each line that is no title, counted in `parsed`."""
    group = group_of(" ".join(block.command or ())) or UNNAMED
    for at, line in parsed.lines(block):
        text = line.strip()
        if text.startswith("==>"):
            group = group_of(text) or group
            continue
        match = _PREFIX.fullmatch(text)
        assert match is not None
        if match[1]:
            group = group_of(match[1]) or group
        yield at, group, match[2].strip(), line


def copies(
    block: Block, parsed: Parsed, counter: re.Pattern[str]
) -> dict[str, list[dict[str, int]]]:
    """By group: the copies of a file of lines "NAME NUMBER" (the groups of `counter`), in their order.

    A name that is in the copy already begins the next one. Lines are counted and rejected in `parsed`.
    """
    found: dict[str, list[dict[str, int]]] = defaultdict(list)
    for at, group, text, line in lines(block, parsed):
        match = counter.fullmatch(text)
        if match is None:
            parsed.reject(at, line)
            continue
        mine = found[group]
        if not mine or match[1] in mine[-1]:
            mine.append({})
        mine[-1][match[1]] = int(match[2])
    return found
