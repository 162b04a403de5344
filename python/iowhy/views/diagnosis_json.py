"""A diagnosis for scripts: the verdict's JSON, with what was read and what to do next."""

from collections.abc import Sequence

from msgspec.structs import asdict

from iowhy.sources.diagnose import Diagnosis, describe
from iowhy.whys import verdict_json
from iowhy.whys.facts.busy_processes import BusyProcess
from iowhy.whys.next_step import Step
from iowhy.whys.verdict import Verdict


def as_json(
    found: Diagnosis, verdict: Verdict, steps: Sequence[Step], processes: Sequence[BusyProcess]
) -> dict[str, object]:
    """All that `iowhy diagnose` has to say, under stable names."""
    return {
        **verdict_json.as_json(verdict),
        "recording": str(found.recording.path),
        "inputs": describe(found.parts),
        "processes": [asdict(one) for one in processes],
        "not_understood": [
            {"file": one.file, "line": one.line, "text": one.text} for one in found.unread
        ],
        "not_understood_more": found.unread_dropped,
        "next": [{"command": step.command, "shows": step.shows} for step in steps],
    }
