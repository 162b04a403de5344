"""dpkg unpacks a package of many small files: each is made durable before it takes its name."""

from pathlib import Path

from iowhy.lab import shell
from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._trees import make_tree
from iowhy.lab.stage import Stage

_CONTROL = """Package: iowhy-lab
Version: 1
Architecture: all
Maintainer: lab <lab@example.org>
Description: files of a scratch filesystem
"""


def _package(stage: Stage) -> Path:
    """A package of small files, made next to the scratch filesystem."""
    content, package = stage.folder / "content", stage.folder / "lab.deb"
    make_tree(content / "opt" / "lab", stage.choice.count(60), 10, 3000, stage.choice.seed)
    (content / "DEBIAN").mkdir(mode=0o755)
    (content / "DEBIAN" / "control").write_text(_CONTROL)
    content.chmod(0o755)
    shell.run(("dpkg-deb", "-Znone", "--root-owner-group", "-b", str(content), str(package)))
    return package


def _unpack(stage: Stage, *starts_it: str, sync: str = "--refuse-unsafe-io") -> Plan:
    package = _package(stage)
    root = stage.scratch_filesystem(512).path / "root"
    for folder in ("updates", "info"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    for name in ("status", "available"):
        (root / "var/lib/dpkg" / name).touch()
    options = (f"--root={root}", "--log=/dev/null", sync)
    return Plan((*starts_it, "dpkg", *options, "--unpack", str(package)))


#: What was written is on its way to the disk.
_NOT_DURABLE = (*FINE, "sync-storm", "flush-cost", "journal-entangled", "device-saturated")

SCENARIO = Scenario(
    name="dpkg-unpack",
    title="dpkg unpacks a package of many small files",
    variants=(
        Variant(
            "durable",
            "as Debian has it, whatever this machine is set to",
            _unpack,
            ("sync-storm", "flush-cost"),
        ),
        Variant(
            "eatmydata",
            "nothing is made durable",
            lambda s: _unpack(s, "eatmydata"),
            _NOT_DURABLE,
        ),
        Variant(
            "unsafe-io",
            "no sync for each file",
            lambda s: _unpack(s, sync="--force-unsafe-io"),
            _NOT_DURABLE,
            remedy=("dpkg.unsafe-io",),
        ),
    ),
    devices=("hdd", "flush-slow"),
    remedy=(
        "dpkg.eatmydata",
        "shared.without-syncs",
    ),
    tools=("dpkg", "dpkg-deb", "eatmydata"),
)
