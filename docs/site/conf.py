"""The site of docs/, as Sphinx makes it: `make site`. Pages stay plain Markdown, which GitHub shows as well."""

from pathlib import Path

project = "iowhy"
author = "the iowhy developers"
copyright = author  # Sphinx's name for it
extensions = ["myst_parser"]
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = ["target", ".venv", ".git", "**/.pytest_cache"]
root_doc = "docs/README"
html_theme = "alabaster"
html_theme_options = {
    "fixed_sidebar": True,
    "page_width": "1180px",
    "sidebar_width": "220px",
    "body_max_width": "none",
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_sourcelink = False
html_copy_source = False
# Links name headings as on GitHub.
myst_heading_anchors = 6
# JSON with … in it is none to Pygments.
suppress_warnings = ["misc.highlighting_failure"]

CAUSES = "docs/causes/README"
START = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/README.html">'


def _with_pages_below(app, name, source):
    """An index names its pages in sentences or a table; Sphinx wants a toctree, which GitHub would show as text."""
    if name not in (root_doc, CAUSES):
        return
    where = {
        page: source[0].find(f"({page.removeprefix('docs/')}.md)") for page in app.env.found_docs
    }
    below = [  # as the index names them, then the others
        f"/{page}"
        for page in sorted(where, key=lambda page: (where[page] < 0, where[page], page))
        if page != name and (page.startswith("docs/causes/") and page != CAUSES) == (name == CAUSES)
    ]
    source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *below, "```", ""])


def _with_start(app, error):
    """What a browser opens first."""
    if error is None:
        Path(app.outdir, "index.html").write_text(START)


def setup(app):
    app.connect("source-read", _with_pages_below)
    app.connect("build-finished", _with_start)
