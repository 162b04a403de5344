"""Which paths of functions of a program take more or less time than before."""

from msgspec import Struct

from iowhy.relations import Relations

#: Of the longer of both runs' time of all threads (idle sleep left out): less is what samples differ by.
_LEAST = 0.05
_SHOWN = 5
_TIMES = """
SELECT path, CAST(sum(class_ns) AS BIGINT) AS time_ns FROM path_times
WHERE class NOT IN ('idle', 'recorder')
GROUP BY path
"""


class ChangedPath(Struct, frozen=True):
    """Functions, the innermost first, and their time of all threads in both recordings."""

    path: str
    before_ns: int
    after_ns: int


def changed_paths(before: Relations, after: Relations) -> tuple[ChangedPath, ...]:
    """The few that differ most; none where a recording has no stacks, and of what was not sampled nothing is said."""
    first, second = _times(before), _times(after)
    if not first or not second:
        return ()
    least = _LEAST * max(sum(first.values()), sum(second.values()))
    found = [
        ChangedPath(path, first.get(path, 0), second.get(path, 0))
        for path in sorted(first.keys() | second.keys())
        if path not in ("not sampled", "stack not read")
    ]
    found = [one for one in found if abs(one.after_ns - one.before_ns) >= least]
    return tuple(sorted(found, key=lambda one: -abs(one.after_ns - one.before_ns))[:_SHOWN])


def _times(relations: Relations) -> dict[str, int]:
    with relations.recording.damage_named():
        if not relations.has("stack_samples"):
            return {}
        return {
            path: ns
            for path, ns in relations.rows(_TIMES)
            if isinstance(path, str) and isinstance(ns, int)
        }
