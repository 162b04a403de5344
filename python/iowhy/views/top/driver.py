"""How the view is drawn on a terminal: a picture is begun once the terminal took the one before."""

import sys
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.driver import Driver


class PacedDriver(LinuxDriver):
    """Textual's own puts up to 30 pictures in a queue: on a slow line, a key is then answered 30 pictures later.

    This one waits for the terminal, and keys that come before that are done before the next picture: what has not been
    shown is at most what is on the way to the terminal.
    """

    def write(self, data: str) -> None:
        """As `LinuxDriver`, once the terminal takes it."""
        if sys.__stderr__ is not None:
            sys.__stderr__.write(data)
            sys.__stderr__.flush()


def paced(found: type["Driver"]) -> type["Driver"]:
    """The paced one, where Textual would draw on a terminal itself."""
    return PacedDriver if found is LinuxDriver else found
