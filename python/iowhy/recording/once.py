"""What several threads need and one of them makes."""

from collections.abc import Callable
from threading import Event, Lock
from typing import Any, TypeVar

Made = TypeVar("Made")


class Once:
    """Things by their name, each made by the thread that first needs it; another one waits until it is there.

    What failed is made again by whoever needs it next, and fails there.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun: dict[str, Event] = {}
        self._made: dict[str, Any] = {}

    def __contains__(self, name: object) -> bool:
        """Whether it is there."""
        return name in self._made

    def make(self, name: str, make: Callable[[], Made]) -> Made:
        """What has this name. Raises what `make` raises."""
        while name not in self._made:
            with self._lock:
                begun = self._begun.get(name)
                if begun is None:
                    mine = self._begun[name] = Event()
            if begun is not None:
                begun.wait()
                continue
            try:
                # Between the two questions another thread may have been done with it.
                if name not in self._made:
                    self._made[name] = make()
            finally:
                with self._lock:
                    del self._begun[name]
                mine.set()
        made: Made = self._made[name]
        return made
