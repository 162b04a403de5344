"""What an experiment or a comparison runs."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from iowhy.experiments.metric import Metric
from iowhy.users import User


class Job(Struct, frozen=True):
    """What is run around and for each trial; the flags mean what they mean in hyperfine.

    ``prepare`` runs before each trial and ``conclude`` after it, ``setup`` once before all and
    ``cleanup`` once after. ``directory`` is where the command runs, ``data_directory`` what levers copy, move or warm, None for the same. All of them run as ``user``, where
    root runs the experiment for somebody: levers alone need root.
    """

    command: Sequence[str]
    directory: Path
    prepare: tuple[str, ...] = ()
    conclude: tuple[str, ...] = ()
    setup: str | None = None
    cleanup: str | None = None
    cache: str = "as-is"
    timeout_s: float | None = None
    ignore_failure: bool = False
    show_output: bool = False
    input_file: Path | None = None
    metric: Metric | None = None
    user: User | None = None
    data_directory: Path | None = None

    @property
    def data(self) -> Path:
        """What levers copy, move or warm."""
        return self.data_directory or self.directory
