"""Which recordings of a fleet are whole, cut off, damaged, there twice, or of another version's format.

Those that are not damaged are noted next to the verdicts, by names, sizes and times of their files, and read again only if these change.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.fleet.members import MOST_TOGETHER, LeftOut, Member, opened
from iowhy.fleet.verdicts import Kept, keep, kept, opened_store
from iowhy.recordings.check import check_recording
from iowhy.recordings.manifest import MANIFEST, MANIFEST_MAX_BYTES
from iowhy.recordings.object_store import written
from iowhy.recordings.plain_file import read_plain
from iowhy.recordings.schema import VERSION

WHOLE, CUT_OFF, DUPLICATE = "whole", "cut off", "duplicate"
DAMAGED, INCOMPATIBLE = "damaged", "incompatible"
#: States with which a recording is not to be counted on.
BAD = (DUPLICATE, DAMAGED, INCOMPATIBLE)
_DEFINITIONS = ("iowhy.recordings", "iowhy.tables", "iowhy.fleet")


class Health(Struct, frozen=True):
    """One recording: its state, and in words what was found."""

    recording: str
    host: str | None
    started: str | None
    state: str
    found: str


def health(paths: Sequence[Path], again: bool = False) -> Iterator[Health]:
    """Looks at every file of each recording, in the order of their paths; of recordings that are the same the first counts.

    `again`: also of those that were not damaged before.
    """
    left_out = LeftOut()
    seen: dict[bytes, Path] = {}
    store = opened_store()
    with closing(store) if store is not None else nullcontext():
        for at in range(0, len(paths), MOST_TOGETHER):
            some = paths[at : at + MOST_TOGETHER]
            found: dict[Path, Health] = {}
            for together in opened(some, left_out):
                keys = {one.path: one.fingerprint(_DEFINITIONS) for one in together}
                known = {} if again else kept(store, [key for key in keys.values() if key])
                for member in together:
                    key = keys[member.path]
                    looked = known.get(key) or _looked_at(member)
                    if key not in known and looked["state"] != DAMAGED:
                        keep(store, key, looked)
                    found[member.path] = _of(member, looked, seen)
            for path in some:
                yield (
                    found[path] if path in found else _unreadable(path, left_out.reasons.pop(path))
                )


def _looked_at(member: Member) -> Kept:
    """State of a recording that can be opened, and what was found, apart from others."""
    try:
        with member.alone() as recording:
            wrong = [one for one in check_recording(recording) if not one.ok]
    except Problem as problem:
        return {"state": DAMAGED, "found": str(problem)}
    if wrong:
        found = "; ".join(f"{one.subject}: {one.found}" for one in wrong[:3])
        return {"state": DAMAGED, "found": found}
    if not member.recording.manifest.complete:
        found = "the recorder was killed, or is still recording; what it had closed is read"
        return {"state": CUT_OFF, "found": found}
    return {"state": WHOLE, "found": "ended as it should"}


def _of(member: Member, looked: Kept, seen: dict[bytes, Path]) -> Health:
    state, found = looked["state"], looked["found"]
    if state != DAMAGED:
        # It names host, clock, process, counts of rows: no two recordings have the same.
        digest = hashlib.sha256(member.manifest_text).digest()
        first = seen.setdefault(digest, member.path)
        if first != member.path:
            state, found = DUPLICATE, f"the same as {written(first)}"
    return Health(written(member.path), member.host, member.started, state, found)


def _unreadable(path: Path, why: str) -> Health:
    state = DAMAGED
    with suppress(OSError, ValueError, Problem, AttributeError, RecursionError):
        schema = json.loads(read_plain(path / MANIFEST, MANIFEST_MAX_BYTES)).get("schema")
        if isinstance(schema, int) and schema != VERSION:
            state = INCOMPATIBLE
    return Health(written(path), None, None, state, why)
