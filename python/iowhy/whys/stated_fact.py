"""What a text of another tool states, and how grave it is."""

from msgspec import Struct

from iowhy.whys.finding import Link

#: From it on, a statement is that something is wrong: such a text is of no healthy machine.
WRONG = 0.6
#: From it on, a statement says more than that no single cause explains the time.
TELLING = 0.5


class Statement(Struct, frozen=True):
    """`grave` (0..1): 1 is a device that is gone, `WRONG` something that a healthy machine does not show, 0 that all is well."""

    grave: float
    link: Link
