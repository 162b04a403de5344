"""Whether others were too loud for an answer."""

import os
from statistics import median

from iowhy.experiments.trials import Conducted
from iowhy.sentences import Sentence, worded

_ALWAYS_THERE_CPUS = 0.25
"""Others use so much on a machine that is called quiet."""

_DISTURBED = 1 / 3
"""Of the trials that count, from which on they were disturbed as a rule."""


def loud(done: Conducted, cpus: float) -> Sentence | None:
    """Why there is no answer: between the trials others used more CPUs than a command that uses ``cpus`` leaves, or many trials were disturbed.

    Kernel threads that work for the command are quiet between trials.
    """
    there = os.cpu_count() or 1
    free = max(_ALWAYS_THERE_CPUS, there - cpus)
    used = median([one.cpus for one in done.resting]) if done.resting else 0.0
    if used > free:
        return worded(
            "loud-cpus",
            "No answer: others used {used} of {cpus:count} CPUs between the trials. Stop them, and run it again",
            used=round(used, 1),
            cpus=there,
        )
    kept = [one for one in done.trials if not one.disturbed]
    if kept and done.kept_disturbed > _DISTURBED * len(kept):
        return worded(
            "loud-trials",
            "No answer: others disturbed {disturbed:count} of {trials:count} trials. Stop them, and run it again",
            disturbed=done.kept_disturbed,
            trials=len(kept),
        )
    return None
