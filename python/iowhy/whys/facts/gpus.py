"""GPUs that the command uses, and how much of that time they wait for it."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.sentences import Sentence, worded


class Gpu(Struct, frozen=True):
    """One that processes of the command have a context on, for `used_ns`; of a whole machine, any."""

    name: str
    idle: float
    used_ns: int
    number: int
    of: int


# Whose kernels ran is not known: while several processes use one, it is idle for none of them only when it is for all.
_USED = """
WITH used AS (
    SELECT DISTINCT ts_ns, interval_ns, gpu, name, busy_share FROM gpu_samples
    WHERE {every} OR tgid IN (SELECT tgid FROM threads)
)
SELECT name, 1 - sum(busy_share * interval_ns) / sum(interval_ns)::DOUBLE AS idle, sum(interval_ns)::BIGINT AS used_ns,
    gpu AS number, count(*) OVER () AS of
FROM used GROUP BY gpu, name HAVING sum(interval_ns) > 0 ORDER BY gpu
"""


def used(relations: Relations, *, every: bool) -> tuple[Gpu, ...]:
    """From gpu_samples; none where no GPU was read."""
    if not relations.has("gpu_samples"):
        return ()
    return tuple(relations.read(Gpu, _USED.format(every=str(every).lower())))


def said(relations: Relations, *, every: bool) -> tuple[Sentence, ...]:
    """A sentence for the one that waits most."""
    found = used(relations, every=every)
    if not found:
        return ()
    most = max(found, key=lambda one: one.idle)
    which = f"GPU {most.number} ({most.name})" if most.of > 1 else f"the GPU ({most.name})"
    return (
        worded(
            "gpu-idle",
            "{gpu} waits {idle:share} of the {used:ns} in which it is used: no kernel runs on it",
            gpu=which,
            idle=most.idle,
            used=most.used_ns,
        ),
    )
