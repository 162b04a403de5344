"""Man pages and completion, made from the options: every option is there, and bash completes by it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from iowhy.cli import documents
from iowhy.cli._commands import COMMANDS
from iowhy.cli._described import pages


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    documents.write(folder)
    return folder / "share"


def completed(share: Path, *words: str) -> set[str]:
    """What bash offers behind these words."""
    script = share / "bash-completion" / "completions" / "iowhy"
    quoted = " ".join(f"'{word}'" for word in words)
    line = (
        f"compopt() {{ :; }}; . {script}; COMP_WORDS=(iowhy {quoted}); COMP_CWORD={len(words)}; "
        'before=${COMP_WORDS[COMP_CWORD-1]}; _iowhy; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-uec", line], capture_output=True, text=True, check=True, cwd=share
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_commands_options_and_choices(share: Path) -> None:
    assert completed(share, "") >= set(COMMANDS) | {"help", "--version"}
    assert completed(share, "exp") >= {"experiment"}
    assert completed(share, "run", "--max-") == {"--max-time", "--max-size"}
    assert completed(share, "run", "--mode", "") == {"auto", "bpf", "proc"}
    assert completed(share, "lab", "v") == {"verify"}
    assert "--seed" in completed(share, "lab", "verify", "--")
    assert completed(share, "report", "x") == set()


def test_every_option_is_in_every_text(share: Path) -> None:
    fish = (share / "fish" / "vendor_completions.d" / "iowhy.fish").read_text()
    zsh = (share / "zsh" / "site-functions" / "_iowhy").read_text()
    for page in pages():
        manual = (share / "man" / "man1" / f"iowhy-{page.path.replace(' ', '-')}.1").read_text()
        for one in page.options:
            flag = one.called
            assert flag in zsh and f"-l {flag[2:]} " in fish, flag
            assert flag.replace("-", "\\-") in manual, flag
        assert all(one.described.help.split()[0] in manual for one in page.words)


def test_man_pages_are_set_without_a_complaint(share: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff, which sets man pages, is not installed")
    for path in sorted((share / "man" / "man1").iterdir()):
        done = subprocess.run(
            [groff, "-man", "-ww", "-Tutf8", "-P-cbou", path],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == "" and "SYNOPSIS" in done.stdout, path.name
