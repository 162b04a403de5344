"""The file: head, policy, styles, data and scripts in one, so that nothing is fetched."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from iowhy.package_files import package_folder
from iowhy.version import VERSION
from iowhy.views.html.markup import Markup, element, lines

#: In the order in which they are needed.
STYLES = ("uPlot.min.css", "page.css")
SCRIPTS = (
    "uPlot.iife.min.js",
    "format.js",
    "colours.js",
    "rows.js",
    "stacked.js",
    "heat.js",
    "places.js",
    "lines.js",
    "flame.js",
    "waterfall.js",
    "layers.js",
    "narrowed.js",
    "response.js",
    "difference.js",
    "page.js",
)


def whole_page(title: str, body: Sequence[str], data: dict[str, Any] | None) -> str:
    """The page; `data` is what charts draw, None for a page without any, which then has no scripts."""
    styles = [_asset(name) for name in STYLES]
    scripts = [_asset(name) for name in SCRIPTS] if data is not None else []
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(styles, scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"iowhy {VERSION}"),
        element("title", title),
        *(Markup(f"<style>{text}</style>") for text in styles),
    ]
    tail = []
    if data is not None:
        tail.append(
            Markup(f'<script type="application/json" id="data">{script_json(data)}</script>')
        )
        tail += [Markup(f"<script>{text}</script>") for text in scripts]
    page = lines(
        Markup("<!doctype html>"),
        Markup('<html lang="en">'),
        Markup("<head>"),
        *head,
        Markup("</head>"),
        Markup("<body>"),
        *body,
        *tail,
        Markup("</body>"),
        Markup("</html>"),
    )
    return page + "\n"


def script_json(value: object) -> str:
    """JSON that may be in a script block: nothing in it ends that, or begins a comment (HTML, 13.1.3.1).

    U+2028 and U+2029 were no part of strings in older JavaScript.
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _asset(name: str) -> str:
    text = (package_folder("iowhy.views.html") / "assets" / name).read_text("utf-8")
    assert "</script" not in text and "</style" not in text
    return text


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Nothing is loaded, sent or framed; of scripts and styles only those of this file run (CSP Level 3)."""
    return "; ".join(
        (
            "default-src 'none'",
            "style-src " + " ".join(map(_hash, styles)),
            "script-src " + (" ".join(map(_hash, scripts)) or "'none'"),
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
