"""A finding names the experiment that would prove it: one that there is."""

import importlib
import pkgutil

from iowhy.whys.cause import causes


def test_every_experiment_named_is_a_lever() -> None:
    package = importlib.import_module("iowhy.experiment.levers")
    names = {info.name.replace("_", "-") for info in pkgutil.iter_modules(package.__path__)}
    named = {cause.experiment for cause in causes() if cause.experiment is not None}
    assert named <= names, named - names
