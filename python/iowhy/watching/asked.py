"""Which stretch of a recording is looked at."""

from msgspec import Struct


class Asked(Struct, frozen=True):
    """The stretch that is looked at: `span_ns` before `end_ns`, None for all that is there and for its end."""

    span_ns: int | None = None
    end_ns: int | None = None
