"""What an answer is to be judged by: what was left out, what disturbed the trials, what the levers really reached."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from iowhy.experiments.result import Result


class Ran(Struct, frozen=True):
    """A trial that counts: what its lever reached, and the CPUs that others used then (None: not known)."""

    condition: str
    factor: float | None
    reached: Mapping[str, float]
    others_cpus: float | None


class Circumstances(Struct, frozen=True):
    """Of an experiment that just ended, and of one that was saved: the same words are made of both."""

    notes: Sequence[str]
    left_out: Sequence[tuple[str, str]]
    failed: Sequence[tuple[str, str]]
    trials: Sequence[Ran]
    repeated: int
    kept_disturbed: int
    blocks: int
    seed: int | None
    cache: str


def circumstances(result: Result) -> Circumstances:
    """Those of a result, its trials in the order of its conditions."""
    return Circumstances(
        notes=result.notes,
        left_out=result.left_out,
        failed=result.failed,
        trials=[
            Ran(
                condition.name,
                trial.factor,
                trial.reached,
                None if trial.others is None else trial.others.cpus,
            )
            for condition in result.conditions
            for trial in result.kept(condition)
        ],
        repeated=result.repeated,
        kept_disturbed=result.kept_disturbed,
        blocks=result.blocks,
        seed=result.seed,
        cache=str(result.settings.get("cache", "as-is")),
    )
