"""Why a server cannot be read, in words of ours: neither what a DSN says, nor a text of the server."""

import re

#: What libpq says of a connection that fails has no code.
_SAID = (
    (re.compile(r"pg_hba\.conf"), "pg_hba.conf lets nobody in this way"),
    (re.compile(r"no password supplied"), "it asks for a password (PGPASSWORD, ~/.pgpass)"),
    (re.compile(r"authentication failed"), "authentication failed"),
    (re.compile(r"role .* does not exist"), "it has no such role"),
    (re.compile(r"database .* does not exist"), "it has no such database"),
    (re.compile(r"too many clients|connection slots"), "it has no connection left"),
    (re.compile(r"starting up|shutting down|recovery mode"), "it starts or ends"),
    (re.compile(r"timeout expired"), "it did not answer in time"),
    (re.compile(r"Connection refused|No such file or directory"), "nobody listens there"),
    (re.compile(r"closed the connection|connection is lost|terminating"), "it closed the connection"),
)  # fmt: skip


class Unreadable(Exception):
    """A server that shows no statements; its text is ours."""


def reason(error: Exception) -> str:
    """Its code or what it is known to mean, else its kind."""
    if isinstance(error, Unreadable):
        return str(error)
    kind = type(error).__name__
    code = getattr(error, "sqlstate", None) or (
        error.args[0] if error.args and isinstance(error.args[0], int) else None
    )
    if code:
        return f"{kind} {code}"
    text = str(error)
    said = next((words for pattern, words in _SAID if pattern.search(text)), None)
    return kind if said is None else f"{kind}: {said}"
