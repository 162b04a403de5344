"""Tables as psql and mysql print them, also as markdown: a row's cells between bars."""


def cells(line: str) -> list[str]:
    """Of one row; mysql and markdown have a bar at both ends, too."""
    text = line.strip()
    inner = text[1:-1] if text.startswith("|") and text.endswith("|") else text
    return [cell.strip(" `") for cell in inner.split("|")]
