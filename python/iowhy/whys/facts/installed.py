"""Whether what was typed is somebody else's program, which its user does not change."""

import re
from pathlib import PurePath

from iowhy.recordings.manifest import Command
from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys.facts.programs import seen_paths
from iowhy.whys.facts.subject import single_program

#: Folders that a package manager fills.
_SYSTEM = r"/(usr/(local/)?)?(s?bin|lib(64|exec)?|share|games)/.*|/(opt|snap|nix/store)/.*"


def somebody_elses(command: Command, relations: Relations) -> bool:
    """Whether it is one program that came with the system; False if that is not known, and of scripts of one's own."""
    if command.mode != "run":
        return False
    typed = single_program(command.argv)
    if typed is None:
        return False
    if "/" in typed:
        return re.fullmatch(_SYSTEM, typed) is not None
    if not relations.has("files"):
        return False
    name = text_literal(PurePath(typed).name)
    there = relations.value(
        bool,
        f"""SELECT count(*) > 0 FROM ({seen_paths(relations)}) AS s
        WHERE regexp_extract(path, '[^/]*$') = {name} AND regexp_full_match(path, {text_literal(_SYSTEM)})""",
    )
    return bool(there)
