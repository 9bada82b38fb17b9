"""A headless Chromium, driven through its DevTools protocol over two pipes, with the standard library alone.

Messages are JSON, each ended by a zero byte: commands go to file descriptor 3 of the browser, answers and events come
from its descriptor 4. See https://chromedevtools.github.io/devtools-protocol/ for the commands.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "google-chrome")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--no-default-browser-check", "--disable-extensions", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--disable-default-apps", "--mute-audio", "--remote-debugging-pipe",
)  # fmt: skip

# Puts the pipes where the browser looks for them, then becomes the browser. (A function that runs between fork and
# exec would do, but Python warns of it where threads run.)
LAUNCHER = """
import os, sys
commands, answers = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2]))
while commands < 5: commands = os.dup(commands)
while answers < 5: answers = os.dup(answers)
os.dup2(commands, 3); os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_browser() -> str | None:
    """The program, or None where there is none or it cannot be driven."""
    found = [path for path in map(shutil.which, NAMES) if path]
    return found[0] if found and os.name == "posix" else None


class Browser:
    """One browser with one page."""

    def __init__(self, program: str, profile: Path, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self.events: list[dict[str, Any]] = []
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        theirs_in, self._commands = os.pipe()
        self._answers, theirs_out = os.pipe()
        self._log = open(profile.with_name(profile.name + ".log"), "w+b")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(theirs_in), str(theirs_out), program, *FLAGS,
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._session = None
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            os.killpg(self._process.pid, signal.SIGKILL)  # its own group, begun with it
            self._process.wait()
        finally:
            os.close(self._commands)
            os.close(self._answers)
            self._log.close()

    # The protocol

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command and return its answer; events that come in between are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait_for(self, event: str) -> dict[str, Any]:
        """Return the next event of this name, or one that has come already."""
        deadline = time.monotonic() + self.timeout
        while True:
            for place, kept in enumerate(self.events):
                if kept.get("method") == event:
                    parameters: dict[str, Any] = self.events.pop(place)["params"]
                    return parameters
            self.events.append(self._read(deadline))

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))[0]
            if not ready:
                raise TimeoutError(f"no answer from the browser in {self.timeout} s")
            part = os.read(self._answers, 1 << 16)
            if not part:
                self._log.seek(0)
                raise RuntimeError(f"the browser has gone: {self._log.read()[-2000:].decode(errors='replace')}")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    # What a reader does

    def size(self, width: int, height: int) -> None:
        """Give the window this size; a narrow one is a phone."""
        phone = {"deviceScaleFactor": 2 if width < 600 else 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, **phone)

    def open(self, address: str) -> None:
        """Go to a page and wait until it is loaded."""
        self.call("Page.navigate", url="about:blank")
        self.wait_for("Page.loadEventFired")
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.wait_for("Page.loadEventFired")

    def run(self, expression: str) -> Any:
        """Evaluate JavaScript on the page and return its value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"].get("exception", {}).get("description")))
        return answer["result"].get("value")

    def settle(self, expression: str, value: object) -> None:
        """Wait until an expression has a value: the browser reports some events a little later."""
        deadline = time.monotonic() + self.timeout
        while (found := self.run(expression)) != value:
            if time.monotonic() > deadline:
                raise TimeoutError(f"expected {expression} to become {value!r}, got {found!r}")
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """The text of the first element that a selector names, as it is shown."""
        found = self.run(f"document.querySelector({json.dumps(selector)}).innerText")
        return str(found)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, with a real mouse event."""
        find = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{find}.scrollIntoView({{block: 'center', inline: 'center'}})")
        middle = "({x, y, width, height}) => [x + width / 2, y + height / 2]"
        place = self.run(f"({middle})({find}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press and release a key that has no character, such as ArrowRight, or Enter."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "Home": 36, "End": 35}
        codes |= {f"Arrow{name}": 37 + i for i, name in enumerate(("Left", "Up", "Right", "Down"))}
        options: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        if key == "Enter":
            options["text"] = "\r"
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **options)

    def screenshot(self, path: Path) -> None:
        """Write what is seen as a PNG file."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """Errors that the page has raised or that the browser has logged since the page was opened."""
        self.run("1")  # what happened before this has been reported after it
        thrown = [e["params"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        logged = [e["params"]["entry"] for e in self.events if e.get("method") == "Log.entryAdded"]
        return [str(params) for params in thrown] + [entry["text"] for entry in logged if entry["level"] == "error"]

    def requests(self) -> list[str]:
        """Addresses that the page has asked for since it was opened."""
        sent = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [str(address) for address in sent]
