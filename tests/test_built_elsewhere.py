"""What is built does not depend on the folder: make release, elsewhere, gives the same bytes (tools/reproduce compares all of them)."""

import json
import re
import subprocess
import sys

from iowhy.sources.live import RECORDER, program
from tests.house import ROOT


def test_the_kernels_programs_have_relative_names_of_files() -> None:
    named = set(re.findall(rb"[\w/.-]*/bpf/\w+\.h", program(RECORDER).read_bytes()))
    assert b"recorder/bpf/entry.h" in named
    assert [one for one in named if one.startswith(b"/")] == []


def test_the_bill_of_a_wheel_and_an_image_needs_no_release() -> None:
    words = [sys.executable, "tools/materials"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = {one["purl"].partition("@")[0] for one in json.loads(said)["components"]}
    assert {"pkg:cargo/parquet", "pkg:cargo/libbpf-sys"} <= named
    assert str(ROOT) not in said
