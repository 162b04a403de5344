"""Containers' first change of a large file of their image: the overlay copies all of it up, for its mode or for one line."""

from pathlib import Path

from iowhy.lab import shell
from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_MIB = 96
_FINE = FINE


def _lower_file(stage: Stage) -> Path:
    """The folder of the layers, whose lower one has a large file that no cache knows."""
    filesystem = stage.scratch_filesystem(512)
    layers = filesystem.path / "layers"
    for name in ("lower", "upper", "work"):
        (layers / name).mkdir(parents=True)
    (layers / "lower" / "base.img").write_bytes(bytes(stage.choice.size(_MIB)))
    filesystem.sync()
    filesystem.cool()
    return layers


def _mounted(stage: Stage, layers: Path, options: str = "") -> Path:
    """The overlay of these layers. That it is on the filesystem below keeps that from being unmounted: nothing is cooled after it."""
    merged = stage.folder / "merged"
    merged.mkdir()
    stage.undo.umount(merged)
    folders = f"lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work"
    shell.run(["mount", "-t", "overlay", "overlay", "-o", folders + options, str(merged)])
    return merged


def _chmod(stage: Stage, options: str) -> Plan:
    merged = _mounted(stage, _lower_file(stage), options)
    return Plan(("chmod", "o+r,g+w", str(merged / "base.img")))


def _append(stage: Stage, *, on_volume: bool) -> Plan:
    layers = _lower_file(stage)
    # A volume is a folder of the filesystem below.
    folder = layers / "lower" if on_volume else _mounted(stage, layers)
    return Plan(("sh", "-c", 'echo "one more line" >> "$0"', str(folder / "base.img")))


SCENARIOS = (
    Scenario(
        name="copy-up",
        title="chmod of a large file that is in an overlay's lower layer",
        variants=(
            Variant("whole", "metacopy=off", lambda s: _chmod(s, ""), ("overlay-copy-up",)),
            Variant("mode", "metacopy=on", lambda s: _chmod(s, ",metacopy=on"), _FINE),
        ),
        devices=("hdd",),
        remedy=("overlay-copy-up.metacopy",),
        filesystems=("ext4",),
        tools=("chmod",),
    ),
    Scenario(
        name="copy-up-write",
        title="a line is added to a large file of an overlay's lower layer",
        variants=(
            Variant(
                "image",
                "the file is the image's",
                lambda s: _append(s, on_volume=False),
                ("overlay-copy-up",),
            ),
            Variant("volume", "it is on a volume", lambda s: _append(s, on_volume=True), _FINE),
        ),
        devices=("hdd",),
        remedy=("overlay-copy-up.volume",),
        filesystems=("ext4",),
        tools=("sh",),
    ),
)
