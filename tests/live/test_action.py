"""The GitHub action as GitHub would run it: the script of its step in bash, with the variables that it gets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.numbers_told import tells

pytestmark = pytest.mark.usefixtures("live")

ROOT = Path(__file__).parents[2]


def script() -> tuple[str, dict[str, str]]:
    """The step that runs the command, and which input each of its variables holds."""
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    step = action["runs"]["steps"][-1]
    return step["run"], {
        key: value.removeprefix("${{ inputs.").removesuffix(" }}")
        for key, value in step["env"].items()
    }


def acting(folder: Path, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """How the step ended, what it printed, and its outputs."""
    shim = folder / "iowhy" / "bin" / "iowhy"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m iowhy "$@"\n')
    shim.chmod(0o755)
    text, variables = script()
    environment = {
        **os.environ,
        **{key: inputs.get(name, "") for key, name in variables.items()},
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "PYTHONPATH": str(ROOT / "python"),
    }
    # GitHub's own words for `shell: bash`.
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = dict(line.split("=", 1) for line in (folder / "output").read_text().splitlines())
    return done.returncode, done.stderr, outputs


def test_the_action_fails_where_a_command_costs_too_much(tmp_path: Path) -> None:
    work = "for n in 1 2 3; do echo $n >> log; sync -d log; done"
    expect = "sync_calls <= 2\n\nsync_calls == 3\n"
    status, said, outputs = acting(tmp_path, run=work, expect=expect, junit="io.xml")
    assert status == 3, said
    (line,) = [line for line in said.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=iowhy::")
    assert tells(line, "sync_calls <= 2", "3", "fdatasync", "100 %25", "sync")
    assert Path(outputs["recording"], "manifest.json").exists()
    assert (tmp_path / "summary").read_text().count("❌") == 1 and (tmp_path / "io.xml").exists()
    status, said, _ = acting(tmp_path, run="echo a b; exit 7", expect="sync_calls <= 2")
    assert status == 7, said
