"""By what programs are known: each rule knows its program by all that it names, and by nothing less."""

import re
from pathlib import Path

import pytest

from iowhy.recordings.manifest import Manifest
from iowhy.recordings.writer import write_recording
from iowhy.whys.facts import Facts
from iowhy.whys.facts.programs import executables, matched
from iowhy.whys.finding import CodeFrame, Link
from iowhy.whys.program import Program, Rule, at_work, in_code, known_by, patterns, programs

from .made import FS, MS, START, Story

RULES = [(one, rule) for one in programs() for rule in one.known_by if not rule.code]
NAMED = [f"{one.name}-{at}" for at, (one, _) in enumerate(RULES)]


def concrete(pattern: str) -> str:
    """A path that a pattern has."""
    path = re.sub(r"\[[^]]*\]", lambda part: "8" if "0-9" in part[0] else ".", pattern).replace(
        "*", "x"
    )
    return path if path.startswith("/") else f"/srv/{path.removeprefix('x/')}"


def near(pattern: str) -> str:
    """A path that lacks one letter of it."""
    fixed = max(re.split(r"\*|\[[^]]*\]", pattern), key=len)
    return concrete(pattern.replace(fixed, fixed[:-1]))


def known(
    folder: Path, having: list[tuple[str, str]], worked: float = 0.5, *, attached: bool = False
) -> set[str]:
    """The programs that are known in a recording with these files and processes.

    Of those that ran before they were recorded (`attached`) no file is opened: their stacks are in the code of these.
    """
    step = 1_000 * MS
    rows: dict[str, list[dict[str, object]]] = {"files": [], "threads": [], "thread_time": []}
    rows["threads"].append({"tid": 1, "tgid": 1, "comm": "sh", "start_ns": START})
    for number, (path, comm) in enumerate(having, 2):
        if attached:
            rows.setdefault("modules", []).append(
                {"module_id": number, "path": path, "kind": "file"}
            )
        else:
            rows["files"].append({"dev": FS, "ino": number, "path": path, "kind": "file"})
        if comm:
            rows["threads"].append(
                {
                    "tid": number,
                    "tgid": number,
                    "ppid": number - 1,
                    "comm": comm[:15],
                    "start_ns": START,
                }
            )
            rows["thread_time"].append(_time(number, int(worked * step), step))
    rows["thread_time"].append(_time(1, step // 2, step))
    manifest = Manifest.made(argv=["sh"], start_ns=START, end_ns=START + step)
    with Facts(write_recording(folder, manifest, rows)) as facts:
        return {one.name for one in at_work(facts)}


def _time(tid: int, busy: int, step: int) -> dict[str, object]:
    return {"ts_ns": START, "interval_ns": step, "tgid": tid, "tid": tid, "cpu_user_ns": busy,
            "sleeping_ns": step - busy}  # fmt: skip


@pytest.mark.parametrize(("one", "rule"), RULES, ids=NAMED)
def test_a_rule_needs_all_that_it_names(one: Program, rule: Rule) -> None:
    names = {rule.executable: frozenset({1})} if rule.executable else {}
    files = frozenset(patterns(rule))
    assert one.id in {found.id for found in known_by(names, files)}
    less = [({}, files)] if names else []
    less += [(names, files - {left_out}) for left_out in files]
    for running, seen in less:
        # Another rule may know it by what is left.
        smaller = [
            r
            for r in one.known_by
            if (r.executable is None or r.executable in running) and set(patterns(r)) <= seen
        ]
        assert smaller or one.id not in {found.id for found in known_by(running, seen)}


def test_each_program_is_known_by_its_evidence_and_none_by_a_near_miss(tmp_path: Path) -> None:
    rules = [rule for _, rule in RULES]
    names = sorted({rule.executable for rule in rules if rule.executable})
    texts = sorted({text for rule in rules for text in patterns(rule)})
    # Each has started the next one, and all of them the workers.
    workers = [("/srv/worker", "worker")] * 10
    having = [(f"/usr/bin/{name}", name) for name in names] + workers
    misses = [(f"/usr/bin/x{name}", f"x{name}") for name in names] + workers
    every = known(tmp_path / "all", having + [(concrete(text), "") for text in texts])
    assert every == {one.name for one, _ in RULES}
    assert known(tmp_path / "near", misses + [(near(text), "") for text in texts]) == set()


@pytest.mark.parametrize(
    ("path", "told"), [("/usr/sbin/mariadbd", True), ("/usr/sbin/mine", False)]
)
def test_a_server_that_runs_already_is_known_by_its_code(
    path: str, told: bool, tmp_path: Path
) -> None:
    found = known(tmp_path / "x", [(path, "mariadbd")], attached=True)
    assert (found == {"MySQL or MariaDB"}) is told


def test_a_name_alone_is_no_program_nor_a_file_that_is_only_read(tmp_path: Path) -> None:
    assert known(tmp_path / "name", [("/home/me/sqlite3", "sqlite3")]) == set()
    assert known(tmp_path / "file", [("/usr/bin/sqlite3", "")]) == set()
    assert known(tmp_path / "idle", [("/usr/bin/sqlite3", "sqlite3")], worked=0.01) == set()


def test_what_a_program_starts_works_for_it(tmp_path: Path) -> None:
    story = Story(1.0)
    story.add("threads", tid=7, tgid=7, ppid=1, comm="make", start_ns=START)
    story.add("threads", tid=8, tgid=8, ppid=7, comm="gcc", start_ns=START)
    story.add("threads", tid=9, tgid=9, ppid=8, comm="cc1", start_ns=START)
    story.tables["thread_time"] = [_time(9, 900 * MS, 1_000 * MS)]
    story.file(201, "/usr/bin/make")
    with Facts(story.made(tmp_path / "x")) as facts:
        assert [one.name for one in at_work(facts)] == ["make and ninja"]


def test_tools_of_go_are_programs(tmp_path: Path) -> None:
    """Without them, what they compile for is not offered its cache."""
    story = Story(1.0)
    story.add("threads", tid=8, tgid=8, ppid=1, comm="compile", start_ns=START)
    story.tables["thread_time"] = [_time(8, 900 * MS, 1_000 * MS)]
    story.file(201, "/usr/local/go/pkg/tool/linux_amd64/compile")
    with Facts(story.made(tmp_path / "x")) as facts:
        assert executables(facts.relations, ["compile"]) == {"compile": frozenset({8})}


@pytest.mark.parametrize("comm", ["python3", "python3.11", "python", "pip3"])
def test_a_version_in_the_name_is_the_same_program(comm: str, tmp_path: Path) -> None:
    having = [
        (f"/usr/bin/{comm}", comm),
        ("/usr/lib/python3/dist-packages/pip/_internal/cli/main.py", ""),
    ]
    assert "pip" in known(tmp_path / "x", having)


def test_what_python_compiled_is_its_module(tmp_path: Path) -> None:
    story = Story(1.0)
    story.file(201, "/usr/lib/torch/utils/data/__pycache__/dataloader.cpython-311.pyc")
    of = ["*/torch/utils/data/dataloader*", "*/torch/dataloader*"]
    with Facts(story.made(tmp_path / "x")) as facts:
        assert matched(facts.relations, of) == {of[0]}


@pytest.mark.parametrize(
    ("function", "known"),
    [("go.etcd.io/bbolt.(*DB).Update", True), ("go.etcd.io/etcd.main", False)],
)
def test_what_is_part_of_another_program_is_known_by_its_code(function: str, known: bool) -> None:
    frames = tuple(
        CodeFrame(name, name, "store", None, None)
        for name in ("os.(*File).Sync", function, "main.main")
    )
    said = [one.name for one in in_code([Link("called by", None, "", "callers", frames)])]
    assert said == (["bbolt"] if known else [])
