"""When processes were there: a part of a recording that outlives them, or began before them."""

from iowhy.relations.narrowed import Narrowed
from iowhy.relations.opened import Relations

#: A process that was there for this part of a recording was there for all of it: those that run when it begins are
#: found one after the other, which takes some milliseconds.
ALL = 0.98


def as_if_alone(relations: Relations, pids: tuple[int, ...]) -> Narrowed:
    """These processes of a whole recording, in the time from the first one's start to the last one's end.

    All of the recording if that is nearly as long, or not known: other tools' output has a thread from the first line
    that names it, and who sleeps is not named.
    """
    if relations.recording.manifest.source == "diagnose":
        return Narrowed(pids=pids)
    facts = relations.facts
    ((start, end),) = relations.rows(
        f"""SELECT min(start_ns), max(coalesce(end_ns, {facts.end_ns}))
        FROM threads WHERE tgid IN ({", ".join(map(str, pids))})"""
    )
    if start is None or end is None:
        return Narrowed(pids=pids)
    start, end = max(start, facts.start_ns), min(end, facts.end_ns)
    if end <= start or end - start >= ALL * facts.elapsed_ns:
        return Narrowed(pids=pids)
    return Narrowed(pids=pids, existed=(start, end))
