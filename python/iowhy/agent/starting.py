"""How an agent starts: what `iowhy agent run` does before it counts, which `iowhy agent check` tries, so that neither takes what the other refuses."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from iowhy.agent.metrics import serve
from iowhy.agent.service import LOCK, Service, locked, own
from iowhy.agent.settings import Settings
from iowhy.errors import Problem
from iowhy.hung_filesystem import must_answer
from iowhy.recordings.folder_lock import holder
from iowhy.recordings.manifest import MANIFEST
from iowhy.sources.live import RECORDER

#: How often it is looked whether counting has begun.
LOOK_EVERY_S = 0.05


@contextmanager
def prepared(settings: Settings, again: Callable[[], Settings] | None = None) -> Iterator[Service]:
    """An agent that is about to count: all that its settings ask for is there and its own. Raises Problem."""
    must_answer(settings.directory, made_in=True)
    with locked(settings.directory):
        service = Service(settings, again)
        if settings.metrics is not None:
            serve(settings.metrics, service.totals)
        yield service


def check(settings: Settings) -> int | None:
    """Starts an agent with these settings, up to its counting, and takes away what that made. Raises Problem where it does not start.

    Gives the process of the agent that works in that folder already, which has it and the address of its metrics: they are not tried then.
    """
    must_answer(settings.directory, made_in=True)
    at_work = holder(settings.directory, LOCK)
    if at_work is not None:
        own(settings.directory)
        Service(replace(settings, black_box_ns=None))
        return at_work
    made = [path for path in (settings.directory, *settings.directory.parents) if not path.exists()]
    try:
        with prepared(settings) as service:
            if service.captures.box is not None:
                service.captures.box.end()
            _begin_to_count(service)
    finally:
        with suppress(OSError):
            if made:
                (settings.directory / LOCK).unlink()
            for path in made:
                path.rmdir()
    return None


def _begin_to_count(service: Service) -> None:
    """Raises Problem where the counting process ends; what it wrote is gone afterwards."""
    with (
        TemporaryDirectory(prefix=".check-", dir=service.settings.directory) as name,
        service.counting(Path(name)) as counting,
    ):
        while not list(Path(name).glob(f"*/{MANIFEST}")):
            if counting.poll() is not None:
                raise Problem("aggregate-ended", recorder=RECORDER, status=counting.returncode)
            time.sleep(LOOK_EVERY_S)
