"""Errors of SQL as a line for the user."""

_LOOK_UP = '`iowhy sql REC --list` lists tables, "DESCRIBE TABLE" their columns'


def first_line(error: Exception) -> str:
    """What is wrong, without the kind of error, with what was probably meant, and how names are looked up."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    hints = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    said = " ".join(lines[:1] + hints[:1])
    kind, _, rest = said.partition(" Error: ")
    said = (
        (rest or said)
        .removesuffix(" Candidate functions:")
        .replace("! Did", "; did")
        .replace("! ", "; ")
    )
    said = said.replace("Candidate bindings:", "the nearest are")
    return f"{said.rstrip('!.')} ({_LOOK_UP})" if kind in ("Binder", "Catalog") else said
