"""The page and the notebook of the Python API, as they stand: each of their lines runs."""

import json
import os
import re
from pathlib import Path

import pytest

import iowhy
from tests.whys.made import Story

pytestmark = pytest.mark.usefixtures("live")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="an experiment's levers need root")
def test_the_page(folder: Path) -> None:
    Story(seconds=4.0).thread(user=0.5).caller("read", 40, blocked=1_000_000).write(
        folder / "load.iowhy"
    )
    (folder / "load").write_text("#!/bin/sh\nexec true\n")
    (folder / "load").chmod(0o755)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "api.md").read_text(), re.DOTALL):
        exec(block, names)
    done, here = names["done"], names["here"]
    assert done.exit_status == 0 and done.measures["sync_calls"] == 1  # type: ignore[attr-defined]
    assert here.measures["read_bytes"] == len("hello\n")  # type: ignore[attr-defined]
    assert here.path == folder / "python.iowhy"  # type: ignore[attr-defined]


def test_the_notebook() -> None:
    book = json.loads((DOCS / "notebooks" / "first.ipynb").read_text())
    names: dict[str, object] = {}
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    each, once = names["each"], names["once"]
    assert each.measures["sync_calls"] == 200  # type: ignore[attr-defined]
    assert once.measures["sync_calls"] == 0  # type: ignore[attr-defined]
    assert once.expect("sync_calls <= 10") == []  # type: ignore[attr-defined]


def test_a_block_that_fails_leaves_its_recording_and_no_recorder() -> None:
    with pytest.raises(ZeroDivisionError), iowhy.recording("a.iowhy"):  # type: ignore[operator]
        _ = 1 / 0
    assert iowhy.open("a.iowhy").recording.manifest.complete
