"""What a database says of SQL that it refuses, in one line."""


def first_line(error: Exception) -> str:
    """The first line of an error, with the line that names what was probably meant."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    hints = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    return " ".join(lines[:1] + hints[:1])
