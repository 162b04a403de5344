"""Files for the agent: a systemd unit, a file to begin with, alert rules for Prometheus, a board for Grafana."""

import shutil
from pathlib import Path

from iowhy.errors import Problem
from iowhy.invocation import own_program

FOLDER = Path(__file__).parent
FILES = {
    "unit": "iowhy-agent.service",
    "config": "agent.toml",
    "alerts": "alerts.yml",
    "board": "board.json",
}


def text(what: str) -> str:
    """The file's text; the unit's with the path of this iowhy. Raises Problem."""
    if what not in FILES:
        raise Problem("agent-show-unknown", what=what, files=", ".join(FILES))
    found = (FOLDER / FILES[what]).read_text("utf-8")
    own = own_program()
    iowhy = str(own) if own.exists() else shutil.which("iowhy") or "/usr/bin/iowhy"
    return found.replace("@iowhy@", iowhy)
