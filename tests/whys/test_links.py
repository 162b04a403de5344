"""What links say of devices that others use, too."""

from types import SimpleNamespace

import pytest

from iowhy.whys import links


@pytest.mark.parametrize(
    ("others", "depth", "words"),
    [
        (0.0, 1.0, "each takes the device 16 ms"),
        (0.0, None, "each takes the device 16 ms"),
        (0.0, 5.6, "each is answered in 16 ms, at a queue depth of 5.6"),
        (0.9, 1.0, "including the wait behind other processes' requests"),
        (None, 5.6, "including the wait behind other processes' requests"),
    ],
)
def test_the_wait_behind_other_requests_is_not_the_devices_time(
    others: float | None, depth: float | None, words: str
) -> None:
    requests = SimpleNamespace(others_share=others, own_depth=depth)
    assert words in links.answered_in(SimpleNamespace(requests=requests), 16e6)  # type: ignore[arg-type]
