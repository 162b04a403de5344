"""The page and the notebook of the Python API, as they stand: each of their lines runs."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

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


@pytest.mark.alone  # syncs are its cause where others leave it a CPU
def test_the_notebook(folder: Path) -> None:
    """In a kernel of Jupyter, as readers run it, without ipywidgets; what it shows is drawn, not printed."""
    book = nbformat.read(DOCS / "notebooks" / "first.ipynb", as_version=4)
    book.cells.append(
        nbformat.v4.new_code_cell(
            "assert each.measures['sync_calls'] == 200\n"
            "assert once.measures['sync_calls'] == 0\n"
            "assert once.expect('sync_calls <= 10') == []"
        )
    )
    done = _run(book, folder)
    shown = [
        [out["data"] for out in cell.outputs if "data" in out]
        for cell in done.cells
        if "outputs" in cell
    ]
    assert max(map(len, shown)) == 1, "a cell shows one answer"
    assert any("sync-storm" in data.get("text/html", "") for outs in shown for data in outs)


def test_the_magic_of_notebooks(folder: Path) -> None:
    cells = ["%load_ext iowhy", "%%iowhy\nopen('some', 'w').write('x' * 9)", "%%iowhy --such\n1"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    done = _run(book, folder)
    value, shown = [out["data"] for out in done.cells[1].outputs if "data" in out]
    assert value["text/plain"] == "9" and "python.iowhy" in shown["text/html"]
    (refused,) = done.cells[2].outputs
    assert refused["text"].startswith("iowhy: ") and "--such" in refused["text"]


def _run(book: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    client = NotebookClient(book, timeout=120, resources={"metadata": {"path": str(folder)}})
    return client.execute()


def test_a_block_that_fails_leaves_its_recording_and_no_recorder() -> None:
    with pytest.raises(ZeroDivisionError), iowhy.recording("a.iowhy"):  # type: ignore[operator]
        _ = 1 / 0
    assert iowhy.open("a.iowhy").recording.manifest.complete
