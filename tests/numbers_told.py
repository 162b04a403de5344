"""Numbers and names in what iowhy says, in whatever words it says them: sentences stand in tests/snapshots alone."""

import re


def tells(text: str, *parts: str) -> bool:
    """Whether one line of a text has these numbers (with their units), names and paths in this order, each as a whole word."""
    between = ".*?".join(rf"(?<![\w.,-]){re.escape(part)}(?![\w-]|[.,]\d)" for part in parts)
    return any(re.search(between, line) for line in text.splitlines())
