"""Case 2: a compile, one job at a time, two, and with its sources on a slow disk."""

from pathlib import Path

from iowhy.lab import shell
from iowhy.lab.scenario import COMPUTES, Figure, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_UNITS = 40
_PARTS = 10
_PART_UNITS = 16
_DISK_MIB = 512


def _sources(folder: Path, units: int, statements: int, seed: int) -> None:
    """A program of `units` C files with a header each, whose functions keep the optimiser busy."""
    folder.mkdir()
    for unit in range(units):
        _unit(folder, unit, statements, seed)
    objects = " ".join(f"unit{unit}.o" for unit in range(units))
    (folder / "Makefile").write_text(
        f"OUT ?= .\nOBJECTS = $(addprefix $(OUT)/,{objects})\n"
        "all: $(OBJECTS)\n"
        "$(OUT)/%.o: %.c %.h\n\tgcc -O1 -c $< -o $@\n"
    )


def _unit(folder: Path, unit: int, statements: int, seed: int) -> None:
    # Longer than what btrfs keeps inside its tree.
    header = f"int unit{unit}(int);\n/* {'x' * 6000} */\n"
    (folder / f"unit{unit}.h").write_text(header)
    lines = [f'#include "unit{unit}.h"', f"int unit{unit}(int v) {{", "  int a[8] = {0};"]
    for step in range(statements):
        at, mixed = (step * seed + unit) % 8, step * 7919 + seed
        lines.append(f"  a[{at}] += (v ^ {mixed}) * a[{(at + 3) % 8}] + (v >> {step % 13});")
    lines += ["  return a[0] + a[7];", "}"]
    (folder / f"unit{unit}.c").write_text("\n".join(lines) + "\n")


def _build(
    stage: Stage, jobs: int, *, statements: int, cold: bool, elsewhere: bool = False
) -> Plan:
    shell.need("gcc", "make")
    kind = "memory" if elsewhere else None
    filesystem = stage.filesystem(stage.disk(_DISK_MIB, kind))
    tree = filesystem.path / "tree"
    _sources(tree, stage.choice.count(_UNITS), statements, stage.choice.seed)
    out = filesystem.path / "objects"
    out.mkdir()
    argv = ("make", "-s", f"-j{jobs}", f"OUT={out}")
    return Plan(argv, cwd=tree, cold=cold, env={"TMPDIR": str(out)})


def _many_small(stage: Stage, *, elsewhere: bool) -> Plan:
    """Small sources that nobody has read yet, compiled part by part: little to compute, much to fetch.

    The parts were written in turns, as a tree is that several people work on, so that no part is in one piece.
    """
    shell.need("gcc", "make")
    kind = "memory" if elsewhere else None
    filesystem = stage.filesystem(stage.disk(_DISK_MIB, kind))
    top = filesystem.path / "tree"
    top.mkdir()
    count = stage.choice.count(_PARTS)
    parts = [top / f"part{part}" for part in range(count)]
    for part in parts:
        part.mkdir()
    for unit in range(_PART_UNITS):
        for number, part in enumerate(parts):
            _unit(part, unit, 4, stage.choice.seed + number)
        filesystem.sync()
    names = " ".join(part.name for part in parts)
    (top / "Makefile").write_text(
        f"all: {names}\n.PHONY: {names}\n{names}:\n\tcat $@/*.c $@/*.h | gcc -fsyntax-only -w -I$@ -x c -\n"
    )
    return Plan(("make", "-s", "-j2"), cwd=top, cold=True)


_TIME = Figure("time", "s", 716, 681, lambda p: p.get("elapsed_s"))

SCENARIOS = (
    Scenario(
        name="build",
        title="a compile with one job at a time on a machine with more processors",
        case=2,
        variants=(
            Variant(
                "j1",
                "make -j1",
                lambda s: _build(s, 1, statements=150, cold=False),
                ("cpu-serial",),
            ),
            Variant("j2", "make -j2", lambda s: _build(s, 2, statements=150, cold=False), COMPUTES),
        ),
        devices=("memory", "file", "hdd", "ssd"),
        figures=(_TIME,),
        # With two processors half of it can be saved, with n all but one nth.
        share_is_gain=False,
        remedy=("make.parallel",),
        tools=("gcc", "make"),
    ),
    Scenario(
        name="build-disk",
        title="many small sources, cold, on a slow disk",
        case=2,
        variants=(
            Variant(
                "disk",
                "sources on the disk",
                lambda s: _many_small(s, elsewhere=False),
                ("cache-cold", "device-slow", "device-saturated", "random-access", "queue-shallow"),
            ),
            Variant(
                "memory", "sources in memory", lambda s: _many_small(s, elsewhere=True), COMPUTES
            ),
        ),
        devices=("hdd",),
        figures=(Figure("time", "s", 681, 663, lambda p: p.get("elapsed_s")),),
        remedy=(
            "shared.warm-cache",
            "shared.warm-cache-any",
        ),
        tools=("gcc", "make"),
    ),
)
