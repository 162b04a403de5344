"""User stacks of CPython's own trampolines: the machine's python3 is older than them, that of Debian 13 is not."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import cannot_run
from test_stacks import SOURCES, _holds, _python_paths, _recorded_with_map
from tests.kernels.packages import DEBIAN, Apt

pytestmark = pytest.mark.usefixtures("live")

#: Unpacked, never installed: an interpreter with its modules, and the libraries that it was linked with.
FOLDER = Path(__file__).parents[2] / "target/packages/trixie"
INTERPRETER, *MODULES = "python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib"
LIBRARIES = ("libc6", "zlib1g", "libexpat1")
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def _python(folder: Path) -> list[str | Path]:
    """The command that runs the interpreter where it lies, with `-X perf`. Raises CalledProcessError."""
    machine = platform.machine()
    folder.mkdir(parents=True, exist_ok=True)
    apt = Apt(folder / "apt", DEBIAN.format("trixie"), MACHINES[machine])
    places = {
        name: apt.unpacked(name, folder) / "usr" for name in (INTERPRETER, *MODULES, *LIBRARIES)
    }
    home = folder / "home"
    if not home.exists():
        made = folder / "home.part"
        shutil.rmtree(made, ignore_errors=True)
        for name in MODULES:
            shutil.copytree(places[name] / "lib", made / "lib", symlinks=True, dirs_exist_ok=True)
        made.rename(home)
    libraries = [places[name] / f"lib/{machine}-linux-gnu" for name in LIBRARIES]
    linker = next(libraries[0].glob("ld-linux-*.so.*"))
    path = ":".join(map(str, libraries))
    python = places[INTERPRETER] / "bin/python3.13"
    return [
        *("env", f"PYTHONHOME={home}", linker, "--library-path", path),
        *(python, "-X", "perf"),
    ]


def test_paths_of_python_are_those_that_it_names(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    try:
        python = _python(FOLDER)
    except subprocess.CalledProcessError as error:
        cannot_run(request, f"CPython 3.13 of Debian 13 cannot be had: {error}")
    recording, said = _recorded_with_map([*python, SOURCES / "paths.py"], tmp_path)
    _holds(recording, said, computes=False)
    assert _python_paths(recording) == {
        tuple(
            f"py::{name}:{SOURCES / 'paths.py'}"
            for name in ("sync_once", "until", path, "<module>")
        )
        for path in ("path_of_a", "path_of_b", "path_of_c")
    }
