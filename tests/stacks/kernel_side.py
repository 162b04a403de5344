"""Headers of the recorder's programs in the kernel that are plain C, as libraries that tests call."""

import ctypes
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
HEADERS = HERE.parents[1] / "recorder" / "bpf"


def library(source: str, folder: Path) -> ctypes.CDLL:
    """The library of a file beside this one."""
    compiler = shutil.which("clang") or shutil.which("cc")
    assert compiler is not None, "the recorder is built with clang"
    made = folder / f"{source}.so"
    includes = [f"-I{HEADERS}", f"-I{HERE}"]
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", *includes, "-o", made, HERE / source], check=True
    )
    return ctypes.CDLL(str(made))
