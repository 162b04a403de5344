"""What every verdict of every test is held to: its advice can be typed, and its order is that of what can be gained."""

import importlib
import re
import shlex

from iowhy.cli import experiment
from iowhy.commands.experiment import split
from iowhy.experiments.levers import levers
from iowhy.options.parser import parse
from iowhy.whys.thresholds import LEADS
from iowhy.whys.verdict import Verdict
from tests.whys.typed_advice import NOT_TYPED, TYPED, kind

#: Whatever stands between backticks is there to be typed.
_TYPED = re.compile(r"`([^`]+)`")
_QUOTED = re.compile(r"`((?:cd \S+ && )?(?:sudo )?\S*iowhy [^`]+)`")
#: Words that stand for something that the reader would have to know.
_BARE = {"CMD", "PID", "NAME", "FILE", "DIR", "REC", "RECORDING", "TRACE", "COPY"}


def texts_of(verdict: Verdict) -> list[str]:
    """Every sentence of a verdict."""
    texts = [verdict.answer, *verdict.unknowns, *verdict.notes, *verdict.failures]
    for one in verdict.findings:
        texts += [*one.remedies, *one.against, *one.lowered_by, one.summary, one.gain_condition]
        texts += [link.statement for link in one.chain]
    return texts


def commands_of(verdict: Verdict) -> list[str]:
    """Every command of ours that a verdict names, as one types it."""
    found = [*(verdict.commands.compare_again() or ())]
    found += [one.proof for one in verdict.findings if one.proof]
    return [*found, *(command for text in texts_of(verdict) for command in _QUOTED.findall(text))]


def parses(command: str) -> list[str]:
    """Asserts that the command line takes a command; returns its words from the subcommand on."""
    # What the shell puts in the place of `$(pgrep …)` are ids.
    words = shlex.split(re.sub(r"\$\(pgrep [^)]*\)", "4711", command))
    words = words[words.index("&&") + 1 :] if words[0] == "cd" else words
    words = words[1:] if words[0] == "sudo" else words
    assert words[0].endswith("iowhy"), command
    assert not _BARE & set(words), f"nobody can type this: {command}"
    module = importlib.import_module(f"iowhy.cli.{words[1].replace('-', '_')}")
    ours = experiment.is_ours if words[1] == "experiment" else lambda _: False
    options = parse(module.Options, words[2:], ours)
    if words[1] == "experiment":
        squeezed, argv = split(options.words)
        assert argv and {word.partition("=")[0] for word in squeezed} <= set(levers()), command
    return words[1:]


def holds(verdict: Verdict) -> None:
    """Asserts of a verdict what must be true of each."""
    for command in (found for text in texts_of(verdict) for found in _TYPED.findall(text)):
        assert not _BARE & set(re.findall(r"[A-Z]+", command)), f"nobody can type this: {command}"
    for command in commands_of(verdict):
        words = parses(command)
        assert kind(words) in {*TYPED, *NOT_TYPED}, f"no test types it, and no reason: {command}"
        assert words[0] != "experiment" or verdict.commands.mode == "run", command
        if command.startswith("sudo"):
            assert words[0] in ("run", "experiment", "lab"), f"needs no root: {command}"
    for before, after in zip(verdict.findings, verdict.findings[1:], strict=False):
        assert before.comes_first or before.healthy or before.gain >= after.gain or after.behind, (
            before.cause,
            after.cause,
        )
    for one in verdict.findings:
        # A program that its user does not program is not left without any.
        assert one.remedies, f"nothing to do about {one.cause}"
    short = {one.cause for one in verdict.findings if one.share >= LEADS}
    for one in verdict.findings:
        if short & {"memory-pressure", "cpu-saturated"}:
            said = one.remedies[0] if one.remedies else ""
            assert "part of the input" not in said, f"there is no room for more: {short}"
