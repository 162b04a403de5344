"""Who installs packages writes code that it does not run, and tries to link before it copies."""

from pathlib import Path

import pytest

from iowhy.whys.facts import Facts
from iowhy.whys.program import at_work, remedies

from .made import FS, MS, Story

TSC = "/p/node_modules/typescript/lib/_tsc.js"


def _node(*, wrote: bool = False, links: int | None = None) -> Story:
    """node with a compiler's file, which it wrote or not; `links`: what its calls to link returned."""
    story = Story(2.0, argv=("pnpm", "install")).thread(10, user=0.9)
    paths = ("/usr/bin/node", TSC, "/usr/lib/node_modules/pnpm/dist/pnpm.cjs")
    for ino, path in enumerate(paths, 900):
        story.add("files", dev=FS, ino=ino, path=path, kind="file")
    story.tables["threads"][0]["comm"] = "node"
    if wrote:
        story.caller("write", 9, bytes_=4096, ino=901, tid=11, gap="idle")
    if links is not None:
        story.caller("link", 9, bytes_=None, ino=None, tid=12, gap="idle", cpu=MS)
        for row in story.tables["syscalls"]:
            row["ret"] = links if row["name"] == "link" else row["ret"]
    return story


@pytest.mark.parametrize("wrote", [False, True])
def test_code_that_it_wrote_is_not_what_it_runs(wrote: bool, tmp_path: Path) -> None:
    with Facts(_node(wrote=wrote).made(tmp_path / "x")) as facts:
        names = {one.name for one in at_work(facts)}
    assert ("TypeScript" in names) is not wrote and "pnpm" in names


@pytest.mark.parametrize(("links", "told"), [(None, True), (-18, True), (0, False)])
def test_links_that_failed_are_none(links: int | None, told: bool, tmp_path: Path) -> None:
    with Facts(_node(links=links).made(tmp_path / "x")) as facts:
        found = remedies(facts, at_work(facts), "cpu-serial", of_syncs=False, of_cpu=True)
    assert ("pnpm.store-here" in [one.do.id for one in found]) is told
