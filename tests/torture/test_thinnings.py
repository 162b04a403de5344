"""Thinned recordings are judged as whole ones are, by less work."""

import pytest

from tests.torture.thinnings import thinner

SEEDS = range(460, 466)


@pytest.mark.parametrize("name", ["one-thread.iowhy", "quota.iowhy"])
def test_what_is_remembered_is_what_is_found(name: str) -> None:
    found = []
    for remembered in (True, False):
        with thinner(remembered=remembered) as thin:
            thin.names = [name]
            found.append([str(thin(seed)) for seed in SEEDS])
    assert found[0] == found[1]
