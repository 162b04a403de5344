"""Which recordings of a fleet are whole, cut off, damaged, there twice, or of another version's format."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.fleet.members import MOST_TOGETHER, LeftOut, Member, opened
from iowhy.recordings.check import check_recording
from iowhy.recordings.manifest import MANIFEST, MANIFEST_MAX_BYTES
from iowhy.recordings.object_store import written
from iowhy.recordings.plain_file import read_plain
from iowhy.recordings.schema import VERSION

WHOLE, CUT_OFF, DUPLICATE = "whole", "cut off", "duplicate"
DAMAGED, INCOMPATIBLE = "damaged", "incompatible"
#: States with which a recording is not to be counted on.
BAD = (DUPLICATE, DAMAGED, INCOMPATIBLE)


class Health(Struct, frozen=True):
    """One recording: its state, and in words what was found."""

    recording: str
    host: str | None
    started: str | None
    state: str
    found: str


def health(paths: Sequence[Path]) -> Iterator[Health]:
    """Looks at every file of each recording, in the order of their paths; of recordings that are the same the first counts."""
    left_out = LeftOut()
    seen: dict[bytes, Path] = {}
    for at in range(0, len(paths), MOST_TOGETHER):
        some = paths[at : at + MOST_TOGETHER]
        found: dict[Path, Health] = {}
        for together in opened(some, left_out):
            found |= {member.path: _of(member, seen) for member in together}
        for path in some:
            yield found[path] if path in found else _unreadable(path, left_out.reasons.pop(path))


def _of(member: Member, seen: dict[bytes, Path]) -> Health:
    """A recording that can be opened."""
    state, found = WHOLE, "ended as it should"
    try:
        with member.alone() as recording:
            wrong = [one for one in check_recording(recording) if not one.ok]
    except Problem as problem:
        return Health(written(member.path), member.host, member.started, DAMAGED, str(problem))
    first = member.path
    if not wrong:
        # It names host, clock, process, counts of rows: no two recordings have the same.
        digest = hashlib.sha256(member.manifest_text).digest()
        first = seen.setdefault(digest, member.path)
    if wrong:
        state, found = DAMAGED, "; ".join(f"{one.subject}: {one.found}" for one in wrong[:3])
    elif first != member.path:
        state, found = DUPLICATE, f"the same as {written(first)}"
    elif not member.recording.manifest.complete:
        state, found = (
            CUT_OFF,
            "the recorder was killed, or is still recording; what it had closed is read",
        )
    return Health(written(member.path), member.host, member.started, state, found)


def _unreadable(path: Path, why: str) -> Health:
    state = DAMAGED
    with suppress(OSError, ValueError, Problem, AttributeError, RecursionError):
        schema = json.loads(read_plain(path / MANIFEST, MANIFEST_MAX_BYTES)).get("schema")
        if isinstance(schema, int) and schema != VERSION:
            state = INCOMPATIBLE
    return Health(written(path), None, None, state, why)
