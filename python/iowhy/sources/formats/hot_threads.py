"""Elasticsearch's and OpenSearch's hot_threads: what busy threads do, by samples of their stacks."""

import re

from iowhy.sources.format import Block, Parsed

NAME = "hot-threads"
TOOL = "hot_threads"
HINT = r"^\s*[\d.]+% .*(?:cpu|disk|wait|block) usage by thread '|^\s*Hot threads at |^::: \{"

_THREAD = re.compile(r"\s*([\d.]+)% .*?(cpu|wait|block) usage by thread '(.{1,200})'")
#: Functions of the JVM in which a thread is in the kernel, for its files.
_CALLS = {
    "FileDispatcherImpl.force": "syncs files", "UnixFileDispatcherImpl.force": "syncs files", "FileDispatcherImpl.pread": "reads files",
    "FileDispatcherImpl.read": "reads files", "FileDispatcherImpl.write": "writes files", "FileDispatcherImpl.pwrite": "writes files",
    "UnixNativeDispatcher": "looks up files",
}  # fmt: skip


def read(block: Block) -> Parsed:
    """Into measurements of each thread: its share of CPU time; a note of those that are in calls on files."""
    parsed = Parsed(TOOL, units="shares of the interval")
    thread, share = "", 0.0
    for at, line in parsed.lines(block):
        if found := _THREAD.match(line):
            thread, share = found[3], float(found[1]) / 100
            parsed.measure(thread, f"{found[2]}_share", share)
        elif call := next((words for name, words in _CALLS.items() if name in line), None):
            parsed.measure(thread or TOOL, call.replace(" ", "_"), share)
            parsed.note(f"{thread or 'a thread'} {call} ({100 * share:.0f} % of the interval)")
        elif not re.match(r"\s+\S|:::|\s*Hot threads", line):
            parsed.reject(at, line)
    return parsed
