"""Every command line that the documentation gives: which test types it, and why none types the few that are left.

A line is typed as it stands, with what is the reader's own put in its place: `tests/docs/scene.py` says what stands for what.
Lines that are the same but for such names are typed once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from iowhy.cli._commands import COMMANDS
from iowhy.errors import Problem
from tests.cli.test_documented_commands import PAGES, ROOT, parsed, words_of

#: Commands that only read what was recorded, printed or measured: tests/docs/test_commands_run.py types them.
READING = frozenset(
    ("why", "what-if", "report", "sql", "html", "export", "check", "pack", "compare", "symbolize", "diagnose", "fleet", "help")
)  # fmt: skip
#: The same of commands that can do more.
_READING_ALSO = re.compile(r"experiment (--list|--from .*)|lab list.*|run --expect list")
#: What begins with this on a line of a block is a command, too.
_OTHERS = re.compile(
    r"(make|pip|pipx|git|scp|docker|podman|ctr|lxc-\w+|apt|rpm|groupadd|chgrp|chmod|setcap|usermod|cargo|pytest|python3?|iostat|perf|strace|journalctl|ssh"
    r"|systemctl|promtool|curl|export|tools/\S+|\./iowhy-record) .*"
)

#: Commands of iowhy that no test types as they stand, by what runs the same, or by the reason.
ELSEWHERE = {
    r"lab run (?!sqlite-flush --keep one-row).*": "tests/live/test_lab.py: some in parts; each of them whole takes minutes, as docs/accuracy.md tells",
    r"lab verify.*": "tests/live/test_lab.py: four cases; all of them take minutes, as docs/accuracy.md tells",
    r"run (--sudo )?--live .*|top -a": "tests/live/test_top.py: on a terminal of its own",
    r"top .*\.iowhy|top REC": "tests/live/test_top.py: on a terminal of its own",
    r"why REC --phase 2": "tests/reports/test_phases.py: of a run that changes",
    r"run .*--statements.*": "tests/live/test_statements.py: with a PostgreSQL of the test's",
    r"top -p 4711 --statements": "tests/views/test_top.py: the view; tests/live/test_probed_statements.py: what it shows",
    r"report statements (shop|python3).iowhy": "tests/live/test_probed_statements.py: of SQLite; tests/live/test_statements.py: of a server",
    r"symbolize .*": "tests/stacks/test_symbolize.py: of a recording that has stacks without names",
    r"html result\.json": "tests/page/test_other_pages.py: of an experiment's results",
    r"experiment (memory|io)-unlimited .*": "tests/live/test_proofs.py: in a control group that has the limit, as it is printed",
    r"device-model .*": "tests/live/test_device_model.py: on a disk of its own",
    r"what-if --device disk.toml .*": "tests/model/test_what_if.py: with a file of a device",
    r"tune (?!--list).*": "tests/live/test_tune.py: with a command and a disk of the test's",
    r"mcp": "tests/api/test_mcp.py: by a client of the SDK",
    r"agent (run|trigger).*": "tests/live/test_agent.py: as a service, which does not end",
    r"agent alive": "tests/agent/test_directory.py: of an agent that counts, and of one that does not",
    r"agent check": "tests/agent/test_starting.py: with folders and addresses of the test's",
    r"agent show .*": "tests/live/test_agent_service.py: the unit; alerts and board in test_agent_metrics.py; no test writes below /etc",
    r"fleet .*--spark.*": "tests/fleet: with a Spark of the test's",
}
#: Commands of others, likewise.
OTHERS_ELSEWHERE = {
    r"make (test|check).*": ".ci/run: that is what continuous integration does",
    r"make (demo|docs|site|pictures|readme|release|snapshots|bench|recordings|test-kernels|torture|fuzz|setup)\b.*": "Makefile: minutes, some as root on a quiet machine, or from the network",
    r"pip install .*": "tests/release/test_release.py: the wheel in a fresh environment; from an index only once it is released",
    r"(scp|groupadd|chgrp|chmod|setcap|usermod) .*": "tests/live/test_not_root.py: a recorder with these capabilities; making users and groups is the reader's",
    r"\./iowhy-record run -- \./load": "tests/release/test_release.py: the recorder alone, in an empty root",
    r"iostat -x 1 10 > iostat.txt": "not iowhy's",
    r"strace -f -ttt -T -y .*": "tests/sources/fixtures/traces/make.sh: makes the log that stands for its own",
    r"journalctl -u iowhy-agent": "not iowhy's",
    r"podman (load|run) .*iowhy.*": "tests/release/test_images.py: the images of a release",
    r"systemctl .*": "tests/live/test_agent_service.py: systemd verifies the unit; the machine's own services are the reader's",
}


@dataclass(frozen=True)
class Typed:
    """A command line as a page has it; its words, where it is one of iowhy's."""

    line: str
    words: tuple[str, ...]
    page: str

    @property
    def call(self) -> str:
        """Its words, to be looked for."""
        return " ".join(self.words)

    @property
    def same(self) -> str:
        """Equal of lines that differ in names alone: of the reader's files, processes, numbers and commands."""
        words = [word for word in self.words if word != "--sudo"]
        end = words.index("--") + 1 if "--" in words and "--vs" not in words else len(words)
        levels = 2 if words[0] in ("agent", "lab", "fleet") else 1
        return " ".join([*words[:levels], *map(_kind, words[levels:end])])


@cache
def typed() -> tuple[Typed, ...]:
    """All that pages give to type to iowhy, fragments in sentences left out."""
    found = []
    for page in PAGES:
        for line in (*block_lines(page.read_text()), *_spans(page.read_text())):
            words = words_of(line[at:]) if (at := _begin(line)) is not None else None
            if words and words[0] in (*COMMANDS, "help") and not _fragment(words):
                found.append(Typed(line, tuple(words), str(page.relative_to(ROOT))))
    return tuple(found)


def others() -> dict[str, str]:
    """Lines of blocks that call something else, with a page of each."""
    return {
        re.sub(r"\s+# .*", "", line): str(page.relative_to(ROOT))
        for page in PAGES
        for line in block_lines(page.read_text())
        if _OTHERS.fullmatch(line) and _begin(line) is None
    }


def reading(one: Typed) -> bool:
    """Whether it needs no rights, and no machine to look at."""
    if {"--", "--vs"} & set(one.words) and one.words[0] == "compare":
        return False
    return one.words[0] in READING or _READING_ALSO.fullmatch(one.call) is not None


def elsewhere(one: Typed) -> bool:
    """Whether it is on the list of what is not typed as it stands."""
    return any(matches(pattern, one.call) for pattern in ELSEWHERE)


def matches(pattern: str, line: str) -> bool:
    """Whether an entry of a list is of this line."""
    return re.fullmatch(pattern, line) is not None


def once(lines: Iterator[Typed]) -> list[Typed]:
    """One for all that differ in names alone."""
    found: dict[str, Typed] = {}
    for one in lines:
        found.setdefault(one.same, one)
    return list(found.values())


def block_lines(text: str) -> Iterator[str]:
    """Lines of blocks that may be typed, without prompts. Where a block has prompts, only what is behind them."""
    for block in _blocks(text):
        prompted = any(line.startswith("$ ") for line in block)
        for line in block:
            if not prompted or line.startswith("$ "):
                yield line.removeprefix("$ ").removeprefix("# ").removeprefix("- ")


def _blocks(text: str) -> Iterator[list[str]]:
    fenced, block = None, list[str]()
    for line in [*text.splitlines(), ""]:
        opened = re.match(r" *```(\w*)", line)
        inside = line.startswith("    ") if fenced is None else fenced in ("", "sh", "yaml")
        if opened is None and inside:
            block.append(line.strip())
            continue
        if opened is not None:
            fenced = opened[1] if fenced is None else None
        elif fenced is not None or (not line.strip() and block):
            continue
        if block:
            yield block
            block = []
    if block:
        yield block


def _spans(text: str) -> list[str]:
    return re.findall(r"`((?:sudo |[A-Z_]+=\S+ )?iowhy [a-z][^`\n]*)`", text)


def _begin(line: str) -> int | None:
    """Where the call of iowhy begins: at first, or behind a pipe."""
    found = re.match(r"(?:sudo |[A-Z_]+=\S+ |[^`]* \| )?(iowhy [a-z])", line)
    return found.start(1) if found else None


def _kind(word: str) -> str:
    if word.startswith("-"):
        return word
    return next((kind for kind in ("*", ".json", ".csv", ".zip") if kind in word), "name")


def _fragment(words: list[str]) -> bool:
    """A command or an option that a sentence names without what it is of: `iowhy why --json`."""
    if len(words) == 1:
        return words[0] not in ("doctor", "mcp")
    if words[0] == "help":
        return False
    try:
        parsed(words)
    except Problem as problem:
        if str(problem).startswith("missing "):
            return True
    if words[0] == "report" and not {"--list", "--json"} & set(words):
        return sum(not word.startswith("-") for word in words) < 3
    targets = {"--", "--list", "list", "-a", "--all", "-p", "--container", "--cgroup", "--pod"}
    if words[0] not in ("run", "experiment", "compare", "html") or targets & set(words):
        return False
    return all(word.startswith("-") for word in words[1:])
