"""Names of a recording's user stacks, looked up later, also on another machine: by the build ids that it keeps."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings import Recording
from iowhy.recordings.rewrite import rewrite
from iowhy.recordings.schema import tables
from iowhy.sources.live import RECORDER, program

Row = dict[str, object]
Key = tuple[object, object]
"""A module and an address in it."""


class Symbolized(Struct, frozen=True):
    """What became of it: addresses in stacks, of which named before and now; files that name none of theirs."""

    addresses: int
    named_before: int
    named: int
    without: tuple[tuple[str, str | None], ...]
    """Path and build id, those with most addresses first."""
    too_large: tuple[str, ...]
    """Files of which names or lines are missing: to read them takes more memory than there is for it."""


def symbolize(recording: Recording, most_s: float) -> Symbolized:
    """Names what has no name or no line, for as long as `most_s`, and writes the names into the recording.

    A file is only believed where its build id is that of the file that ran. Raises Problem.
    """
    names = [column.name for column in tables()["user_stacks"].columns]
    with recording.connected() as connection:
        rows = [
            dict(zip(names, row, strict=True))
            for row in connection.execute(
                f"SELECT {', '.join(names)} FROM user_stacks ORDER BY user_stack_id, depth"
            ).fetchall()
        ]
        modules = {
            row[0]: row[1:]
            for row in connection.execute(
                "SELECT module_id, path, build_id, kind FROM modules"
            ).fetchall()
        }
    if not rows:
        raise Problem("no-user-stacks", path=recording.path)
    asked = _asked(rows, modules)
    answers, too_large = _answers(asked, most_s) if asked else ({}, [])
    new = [row for stack in _stacks(rows) for row in _renamed(stack, answers)]
    if new != rows:
        rewrite(recording, "user_stacks", new)
    return _outcome(rows, new, modules, too_large)


def _asked(
    rows: Iterable[Row], modules: Mapping[object, tuple[str | None, str | None, str]]
) -> list[dict[str, object]]:
    """What the recorder's program is asked: addresses without a line, by module."""
    addresses: dict[object, set[object]] = defaultdict(set)
    for row in rows:
        if not row["inlined"] and (row["function"] is None or row["file"] is None):
            addresses[row["module_id"]].add(row["offset_bytes"])
    asked: list[dict[str, object]] = []
    for module_id, found in addresses.items():
        path, build_id, kind = modules.get(module_id, (None, None, ""))
        plain = [one for one in found if isinstance(one, int) and one >= 0]
        if path is not None and build_id is not None and kind in ("file", "vdso"):
            asked.append(
                {"module_id": module_id, "path": path, "build_id": build_id, "vdso": kind == "vdso",
                 "addresses": sorted(plain)}
            )  # fmt: skip
    return asked


def _answers(
    asked: list[dict[str, object]], most_s: float
) -> tuple[dict[Key, list[Row]], list[object]]:
    """Frames by module and address, innermost first; modules that are too large for all of theirs."""
    command = [str(program(RECORDER)), "names", "--most", f"{most_s:.3f}"]
    done = subprocess.run(command, input=json.dumps(asked).encode(), capture_output=True)
    if done.returncode != 0:
        raise Problem(
            "symbols-failed", recorder=RECORDER, stderr=done.stderr.decode(errors="replace").strip()
        )
    found: dict[Key, list[Row]] = defaultdict(list)
    told = json.loads(done.stdout)
    for one in told["found"]:
        found[one["module_id"], one["address"]].append(one)
    answers = {
        key: sorted(frames, key=lambda one: int(str(one["place"]))) for key, frames in found.items()
    }
    return answers, told["too_large"]


def _stacks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    stack: list[Row] = []
    for row in rows:
        if stack and row["user_stack_id"] != stack[0]["user_stack_id"]:
            yield stack
            stack = []
        stack.append(row)
    if stack:
        yield stack


def _renamed(stack: list[Row], answers: Mapping[Key, list[Row]]) -> list[Row]:
    """A stack with what is known now; a name that it has is only given up for one with a line."""
    made: list[Row] = []
    inlined: list[Row] = []
    for row in stack:
        if row["inlined"]:
            inlined.append(row)
            continue
        answer = answers.get((row["module_id"], row["offset_bytes"]), [])
        better = any(frame["file"] for frame in answer) or (answer and row["function"] is None)
        if better and row["file"] is None:
            made += [
                row
                | {"inlined": not frame["last"]}
                | {key: frame[key] for key in ("function", "file", "line")}
                for frame in answer
            ]
        else:
            made += [*inlined, row]
        inlined = []
    return [row | {"depth": depth} for depth, row in enumerate([*made, *inlined])]


def _outcome(
    before: list[Row],
    after: list[Row],
    modules: Mapping[object, tuple[str | None, str | None, str]],
    too_large: Iterable[object],
) -> Symbolized:
    def named(rows: list[Row]) -> tuple[set[Key], dict[object, set[object]]]:
        known: set[Key] = set()
        without: dict[object, set[object]] = defaultdict(set)
        for row in rows:
            if row["inlined"]:
                continue
            if row["function"] is not None:
                known.add((row["module_id"], row["offset_bytes"]))
            else:
                without[row["module_id"]].add(row["offset_bytes"])
        return known, without

    first, _ = named(before)
    last, without = named(after)
    files = sorted(without.items(), key=lambda item: (-len(item[1]), str(item[0])))
    listed = [
        (str(path), build_id)
        for module, _ in files
        for path, build_id, _ in [modules.get(module, (None, None, ""))]
        if path
    ]
    return Symbolized(
        addresses=len(last) + sum(map(len, without.values())),
        named_before=len(first),
        named=len(last),
        without=tuple(listed),
        too_large=tuple(str(modules[module][0]) for module in too_large),
    )
