"""Chromium without a screen and without a network, driven by its DevTools protocol over a pipe: nothing more is needed.

https://chromedevtools.github.io/devtools-protocol/: requests and answers are JSON that ends in NUL, on descriptors 3 and 4.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: As distributions call it.
NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 60.0


def found() -> str | None:
    """Where the browser lies; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page of a browser. `problems` are what the console and the policy complained about, `asked` what was fetched."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers, self._number, self._rest = to, answers, 0, b""
        self._session: str | None = None
        self.problems: list[str] = []
        self.asked: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """One request and its answer; events that come before it are noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        for got in self._messages():
            if got.get("id") == self._number:
                assert "error" not in got, got["error"]
                return got["result"]
        raise AssertionError("the browser ended")

    def open(self, file: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Opens a file and waits until its charts are drawn."""
        self.size(width, height)
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.problems.clear()
        self.asked.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with suppress(AssertionError):
                if self.run(
                    "document.readyState === 'complete' && location.href !== 'about:blank'"
                ):
                    return
            time.sleep(0.05)
        raise AssertionError(f"{file}: not loaded within {PATIENCE_S:g} s")

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        got = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def point(self, x: float, y: float, kind: str = "mouseMoved") -> None:
        """Moves the pointer, or presses ("mousePressed") and releases ("mouseReleased") its button."""
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, file: Path, chosen: str | None = None, most: int = 16_000) -> None:
        """A PNG of the whole page, or of the element that a selector chooses."""
        script = "(e => { const b = e.getBoundingClientRect(); return [b.x, b.y + scrollY, b.width, b.height]; })"
        what = (
            "document.documentElement" if chosen is None else f"document.querySelector({chosen!r})"
        )
        x, y, width, height = self.run(f"{script}({what})")
        clip = {"x": x, "y": y, "width": width, "height": min(height, most), "scale": 1}
        got = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(got["data"]))

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._rest:
                more = os.read(self._answers, 1 << 20)
                if not more:
                    return
                self._rest += more
            text, _, self._rest = self._rest.partition(b"\0")
            got: dict[str, Any] = json.loads(text)
            self._note(got.get("method", ""), got.get("params", {}))
            yield got

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.problems.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(str(parameters["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.asked.append(str(parameters["request"]["url"]))


@contextmanager
def browser() -> Iterator[Page]:
    """A fresh browser with one page; ends with the block. It has no network: every name leads nowhere."""
    program = found()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="iowhy-browser-", ignore_cleanup_errors=True) as home:
        their_in, to = os.pipe()
        answers, their_out = os.pipe()
        words = [
            program,
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={home}",
        ]
        # The shell puts the pipes where the browser looks for them, from numbers that are not among those.
        high_in, high_out = (fcntl.fcntl(one, fcntl.F_DUPFD, 60) for one in (their_in, their_out))
        shell = f'exec "$@" 3<&{high_in} 4>&{high_out}'
        running = subprocess.Popen(
            ["bash", "-c", shell, "bash", *words],
            pass_fds=(high_in, high_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": home},
        )
        for one in (their_in, their_out, high_in, high_out):
            os.close(one)
        try:
            yield Page(to, answers)
        finally:
            os.close(to)
            with suppress(subprocess.TimeoutExpired):
                running.wait(5)
            running.kill()
            running.wait()
            os.close(answers)
