"""What a database says of SQL that it refuses, in one line."""


def first_line(error: Exception) -> str:
    """What is wrong, without the kind of error, with what was probably meant."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    hints = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    said = " ".join(lines[:1] + hints[:1])
    said = (said.partition(" Error: ")[2] or said).removesuffix(" Candidate functions:")
    said = said.replace("! Did", "; did").replace("! ", "; ")
    return said.replace("Candidate bindings:", "the nearest are").rstrip("!.")
