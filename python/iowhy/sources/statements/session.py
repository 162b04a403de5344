"""What one reading says of one session of a server."""

from msgspec import Struct


class Session(Struct, frozen=True):
    """`thread` is the session's number in the server's PID namespace. Times are wall-clock nanoseconds: `began_ns` of its statement,
    `ended_ns` where that is over. `wait` is the server's name of what it waits for, `holder` the thread that holds that lock,
    `leader` the one that a parallel worker works for. `id` is the server's own fingerprint, `run` its number of
    the run, if it has one: else a run is known by its begin."""

    thread: int
    text: str
    began_ns: int | None = None
    ended_ns: int | None = None
    wait: str | None = None
    holder: int | None = None
    leader: int | None = None
    id: str | None = None
    run: int | None = None
    database: str | None = None
    backend: str | None = None
