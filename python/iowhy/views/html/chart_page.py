"""One chart as its own page, for a frame in a notebook: no script or style of it meets those of the notebook."""

from html import escape

from iowhy.charts import Drawn
from iowhy.commands.overview import Overview
from iowhy.views.html import charts_html
from iowhy.views.html.markup import Markup
from iowhy.views.html.whole_page import whole_page

#: Enough for a chart with its title and legend; a reader scrolls the rest.
_FRAME_PX = 460


def chart_page(one: Drawn, overview: Overview) -> str:
    """The page: title, question, drawing, or why it is not drawn."""
    body = [Markup("<main>"), charts_html.charts_section([one]), Markup("</main>")]
    data = charts_html.page_data([one], overview, lambda text: text)
    return whole_page(one.chart.title, body, data)


def chart_frame(page: str) -> str:
    """The page in a frame that may run its own scripts and reach nothing outside (HTML, `sandbox`)."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" width="100%" '
        f'height="{_FRAME_PX}" style="border: 0"></iframe>'
    )
