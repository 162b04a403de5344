"""Man pages and completion, made from the options: every option is there, and bash, zsh and fish complete by it."""

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.cli import documents
from iowhy.cli._commands import COMMANDS, Command, whole
from iowhy.options.described import parameters


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    documents.write(folder)
    return folder / "share"


Offered = Callable[..., set[str]]


def completed(share: Path, *words: str) -> set[str]:
    """What bash offers behind these words."""
    script = share / "bash-completion" / "completions" / "iowhy"
    quoted = " ".join(f"'{word}'" for word in words)
    line = (
        f"compopt() {{ :; }}; . {script}; COMP_WORDS=(iowhy {quoted}); COMP_CWORD={len(words)}; "
        '_shtab_iowhy iowhy "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-ec", line], capture_output=True, text=True, check=True, cwd=share
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def in_fish(share: Path, *words: str) -> set[str]:
    """What fish offers behind these words. It loads completions of a command only that is there."""
    command = share / "bin" / "iowhy"
    command.parent.mkdir(exist_ok=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    folder = share / "fish" / "vendor_completions.d"
    line = f"set -p fish_complete_path {folder}; complete -C 'iowhy {' '.join(words)}'"
    path = f"{command.parent}:{os.environ['PATH']}"
    home = {**os.environ, "HOME": str(share), "XDG_CONFIG_HOME": str(share), "PATH": path}
    done = subprocess.run(
        ["fish", "-c", line], capture_output=True, text=True, check=True, cwd=share, env=home
    )
    assert done.stderr == ""
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


#: What is offered goes through compadd, which completion calls in the line editor of a terminal only.
_ZSH = """
RPROMPT= PS2=; unsetopt beep
fpath=(FOLDER $fpath); autoload -U compinit; compinit -u -d OUT.dump
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return $?; fi
  local -a offered; builtin compadd -A offered "$@"; print -rl -- $offered >> OUT; builtin compadd "$@"
}
PROMPT=READY
"""


def in_zsh(share: Path, *words: str) -> set[str]:
    """What zsh offers behind these words."""
    out = share / "offered"
    out.unlink(missing_ok=True)
    folder = share / "zsh" / "site-functions"
    main, terminal = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=share,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", "HOME": str(share)},
    )
    os.close(terminal)

    setup = share / "setup.zsh"
    setup.write_text(_ZSH.replace("FOLDER", str(folder)).replace("OUT", str(out)))
    try:
        os.write(main, f". {setup}\n".encode())
        _until(main, b"READY")  # what is typed before is not the line editor's
        # Ctrl-U takes the line away again: nothing is run.
        os.write(main, f"iowhy {' '.join(words)}\t\x15exit\n".encode())
        _until(main, None)
    finally:
        shell.kill()
        shell.wait()
        os.close(main)
    return set(out.read_text().split()) if out.exists() else set()


def _until(main: int, wanted: bytes | None) -> None:
    """Reads what a terminal shows until this stands there, or until the shell has ended."""
    seen = b""
    end = time.monotonic() + 60
    while time.monotonic() < end and (wanted is None or wanted not in seen):
        if select.select([main], [], [], 0.2)[0]:
            try:
                seen += os.read(main, 1 << 16)
            except OSError:  # the other end is closed
                return


@pytest.mark.parametrize(
    ("shell", "offered"), [("bash", completed), ("zsh", in_zsh), ("fish", in_fish)]
)
def test_a_shell_completes_commands_options_and_choices(
    share: Path, shell: str, offered: Offered
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert offered(share, "") >= set(COMMANDS)
    assert offered(share, "exp") >= {"experiment"}
    found = {one.split("=")[0] for one in offered(share, "run", "--max-")}
    assert found == {"--max-time", "--max-size"}
    assert offered(share, "run", "--mode", "") >= {"auto", "bpf", "proc"}
    assert offered(share, "lab", "v") >= {"verify"}
    assert "--seed" in {one.split("=")[0] for one in offered(share, "lab", "verify", "--")}


def test_every_option_is_in_every_text(share: Path) -> None:
    fish = (share / "fish" / "vendor_completions.d" / "iowhy.fish").read_text()
    zsh = (share / "zsh" / "site-functions" / "_iowhy").read_text()
    commands = [one for one in documents.every(whole()) if isinstance(one, Command)]
    assert len(commands) > len(COMMANDS)
    for command in commands:
        name = command.path.replace(" ", "-")
        manual = (share / "man" / "man1" / f"{name}.1").read_text()
        for one in parameters(command.options):
            flag = one.called
            if one.described.flags and not one.described.hidden:
                assert flag in zsh and flag in fish.replace("-l ", "--"), flag
                assert flag.replace("-", "\\-") in manual, flag
            elif not one.described.flags:
                assert one.described.help.split()[0] in manual


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
