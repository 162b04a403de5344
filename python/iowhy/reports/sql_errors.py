"""What a database says of SQL that it refuses, in one line."""

import re
from difflib import get_close_matches

_NO_FUNCTION = re.compile(
    r"No function matches .*'([^(']+)\((.*)\)'\.[\s\S]*\n(LINE \d+: .*)\n( *)(\^+)"
)
_SYNTAX = re.compile(r'syntax error at or near "(\w+)"')
_KEYWORDS = re.findall(r"\w+", "SELECT FROM WHERE GROUP ORDER HAVING LIMIT JOIN DESCRIBE WITH")


def first_line(error: Exception) -> str:
    """What is wrong, without the kind of error, with what was probably meant."""
    function = _NO_FUNCTION.search(str(error))
    if function is not None:
        name, kinds, line, before, carets = function.groups()
        kinds = kinds.replace("VARCHAR", "text").replace("_LITERAL", "")
        return f"{line[len(before) :][: len(carets)]}: {name} takes no {kinds}"
    syntax = _SYNTAX.search(str(error))
    if syntax is not None:
        near = get_close_matches(syntax[1].upper(), _KEYWORDS, 1, 0.7)
        meant = f"; did you mean {near[0]}?" if near and near[0] != syntax[1].upper() else ""
        return f'syntax error at "{syntax[1]}"{meant}'
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    hints = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    said = " ".join(lines[:1] + hints[:1])
    said = (said.partition(" Error: ")[2] or said).removesuffix(" Candidate functions:")
    said = said.replace("Referenced column", "no column").replace(" not found in FROM clause", "")
    said = said.replace("! Did", "; did").replace("! ", "; ")
    return said.replace("Candidate bindings:", "the nearest are").rstrip("!.")
