"""Names as charts and tables write them: those of calls as they are, short ones whole, long ones cut in their middle."""

from collections.abc import Iterator

import pytest

from tests.page.browser import Page
from tests.page.test_in_browser import a_page
from tests.page.test_recording_page import page_of
from tests.reports.conftest import MS, Make, call, file, request

_DEEP = "/srv/" + "deep/" * 800 + "end.db"


@pytest.fixture
def page() -> Iterator[Page]:
    yield from a_page()


def test_names_of_calls_and_long_paths(page: Page, make: Make) -> None:
    recording = make(
        {
            "files": [file(2, _DEEP)],
            "syscalls": [call(n * 9 * MS, 8 * MS, "copy_file_range") for n in range(9)],
            "block_requests": [request(n * 9 * MS, 8 * MS) for n in range(9)],
        }
    )
    page_of(recording.path)
    page.open(recording.path.with_suffix(".html"), width=380)
    assert page.problems == []
    texts = page.run("[...document.querySelectorAll('.legend li, option')].map(e => e.textContent)")
    cut = [text for text in texts if "/srv/deep" in text]
    assert cut and all(len(text) < 200 and "end.db" in text for text in cut), cut
    page.run(
        """(() => {
            window.said = [];
            const draw = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...where) { window.said.push(text); draw.call(this, text, ...where); };
            document.querySelector('[data-chart=slowest-calls] select').dispatchEvent(new Event('change'));
        })()"""
    )
    said = page.run("window.said")
    assert any(text.startswith("copy_file_range ") for text in said), said
    # A link to a table opens it.
    page.run("location.hash = 'report-syscalls'")
    assert page.run("document.querySelector('#report-syscalls').closest('details').open")
    lines = page.run(
        """[...document.querySelectorAll('#report-syscalls td')].filter(e => e.textContent === 'copy_file_range')
            .map(e => e.getClientRects().length && e.offsetHeight)"""
    )
    heads = page.run("document.querySelector('#report-syscalls th').offsetHeight")
    assert lines and all(0 < height <= heads + 1 for height in lines)
