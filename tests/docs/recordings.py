"""`make recordings`: what the pages of causes and the tutorials open, recorded on this machine, which should be quiet, as root.

python -m tests.docs.recordings [NAME…]
"""

import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "recordings"
#: An absolute path of the interpreter is not looked at by the commands: they run in a directory that says nothing of it.
IOWHY = (sys.executable, "-m", "iowhy")
#: A recording lists what is mounted. What is mounted beside the system is the machine's own affair, and is out of sight here.
_ALONE = (
    "unshare", "--mount", "sh", "-c",
    "findmnt -rno TARGET | grep -E '^/(home|media|mnt|srv)/' | while read -r at; do umount -l \"$at\"; done; "
    'exec "$@"', "sh",
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """A recording of docs/recordings: which scenario it is of, and what is found first in it (None: not said)."""

    name: str
    scenario: str
    variant: str
    cause: str | None

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}.iowhy.zip"


def kept() -> list[Kept]:
    """All of them, in the order of recordings.toml."""
    listed = tomllib.loads((FOLDER / "recordings.toml").read_text())
    return [
        Kept(name, one["scenario"], one["variant"], one.get("cause"))
        for name, one in listed.items()
    ]


def main(names: list[str]) -> None:
    """Records and packs those that are named, by itself all."""
    for one in kept():
        if not names or one.name in names:
            print(one.name, flush=True)
            record(one)


def record(one: Kept) -> None:
    """Runs the scenario and packs what was recorded."""
    with tempfile.TemporaryDirectory(prefix="iowhy-recordings-") as folder:
        recording = Path(folder) / f"{one.name}.iowhy"
        run = ("lab", "run", one.scenario, "--variant", one.variant, "--keep", str(recording))
        # A command inherits them: the recording would name the files that they are.
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([*_ALONE, *IOWHY, *run], check=True, cwd="/var/tmp", **quiet)
        pack = ("pack", "--force", str(recording), "-o", str(one.path))
        subprocess.run([*IOWHY, *pack], check=True, stderr=subprocess.DEVNULL)
        one.path.chmod(0o644)


if __name__ == "__main__":
    main(sys.argv[1:])
