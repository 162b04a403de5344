"""Where the progress of trials goes."""

from collections.abc import Callable

from msgspec import Struct, field

from iowhy.experiments.trials import Progress


class Listener(Struct, frozen=True):
    """``trial`` before each trial, ``note`` for what stays, ``step`` for everything else."""

    trial: Callable[[Progress], None] = field(default=lambda _: None)
    step: Callable[[str], None] = field(default=lambda _: None)
    note: Callable[[str], None] = field(default=lambda _: None)
