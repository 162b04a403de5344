"""Case 2 as the expert walked it: one change at a time, each against the same baseline.

`iowhy compare --baseline` over the recordings of the variants, in their order, is the expert's log of changes.
"""

import random

from iowhy.lab import shell
from iowhy.lab.scenario import COMPUTES, Figure, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_UNITS = 160
_DISK_MIB = 512
#: Longer than what btrfs keeps inside its tree, so that every file has a place of its own to seek to.
_FILLER = "x" * 6000


def _steps(stage: Stage, jobs: int, *, objects: str = "same", sources: str = "disk") -> Plan:
    """Tiny C files that nobody has read yet. `objects` go to the same disk, to a `second` one, or to `memory`."""
    shell.need("gcc", "make")
    kind = "memory" if sources == "memory" else None
    source = stage.filesystem(stage.disk(_DISK_MIB, kind))
    target = source
    if objects != "same":
        target = stage.filesystem(stage.disk(_DISK_MIB, "memory" if objects == "memory" else None))
    tree, out = source.path / "tree", target.path / "objects"
    tree.mkdir()
    out.mkdir()
    count = stage.choice.count(_UNITS)
    # In an order that is not the build's, as a tree that has grown lies on its disk.
    units = list(range(count))
    random.Random(stage.choice.seed).shuffle(units)
    for unit in units:
        (tree / f"unit{unit}.c").write_text(
            f"/* {_FILLER} */\nint unit{unit}(int v) {{ return v * {unit + stage.choice.seed}; }}\n"
        )
    names = " ".join(f"$(OUT)/unit{unit}.o" for unit in range(count))
    (tree / "Makefile").write_text(f"all: {names}\n$(OUT)/%.o: %.c\n\tgcc -c $< -o $@\n")
    return Plan(
        ("make", "-s", f"-j{jobs}", f"OUT={out}"), cwd=tree, cold=True, env={"TMPDIR": "/dev/shm"}
    )


_DISK = ("cache-cold", "device-slow", "device-saturated", "random-access", "queue-shallow")

SCENARIO = Scenario(
    name="build-steps",
    title="a cold compile of many tiny files, changed one step at a time",
    case=2,
    variants=(
        Variant(
            "j1", "make -j1, all on one slow disk", lambda s: _steps(s, 1), (*_DISK, *COMPUTES)
        ),
        Variant("j2", "make -j2", lambda s: _steps(s, 2), (*_DISK, *COMPUTES)),
        Variant("j4", "make -j4", lambda s: _steps(s, 4), (*_DISK, *COMPUTES)),
        Variant(
            "second-disk",
            "make -j4, objects on a second slow disk",
            lambda s: _steps(s, 4, objects="second"),
            (*_DISK, *COMPUTES),
        ),
        Variant(
            "memory", "make -j4, all in memory", lambda s: _steps(s, 4, sources="memory"), COMPUTES
        ),
    ),
    devices=("hdd",),
    remedy=(
        "make.parallel",
        "cpu-serial.one-per-cpu",
    ),
    figures=(Figure("time", "s", 716, 681, lambda p: p.get("elapsed_s")),),
    # Each step moves the bottleneck: what a finding claims is not what the next step saves.
    share_is_gain=False,
    tools=("gcc", "make"),
)
