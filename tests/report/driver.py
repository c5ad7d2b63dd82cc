"""Drive a page in a browser as a user does: by pointer, keyboard and touch, through the browser's debugging pipe."""

import base64
import json
import os
import subprocess
import time

import pytest

from tests.report.browser import CHROMIUM, FLAGS

# A promise that is kept when what has changed is painted.
PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Browser:
    """A headless browser with one page; it has no network."""

    def __init__(self, folder):
        if CHROMIUM is None:
            pytest.skip("chromium is not installed")
        self.folder, self._number, self._events = folder, 0, []
        (their_in, self._out), (self._in, their_out) = os.pipe(), os.pipe()

        def connect():
            read, write = os.dup(their_in), os.dup(their_out)  # those may be 3 and 4 themselves
            os.dup2(read, 3)
            os.dup2(write, 4)

        flags = [flag for flag in FLAGS if not flag.startswith("--virtual-time")]
        self._process = subprocess.Popen(
            [CHROMIUM, *flags, "--remote-debugging-pipe", "--host-resolver-rules=MAP * ~NOTFOUND",
             f"--user-data-dir={folder / 'profile'}", "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(their_in)
        os.close(their_out)
        self._rest, self._session = b"", None
        pages = self.send("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def send(self, method, **parameters):
        """Return the answer of the browser to a command."""
        number = self._write(method, parameters)
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") == "Page.javascriptDialogOpening":  # leaving a page with changes
                self._write("Page.handleJavaScriptDialog", {"accept": True})
            self._events.append(answer)

    def _write(self, method, parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._number

    def _read(self):
        while b"\0" not in self._rest:
            part = os.read(self._in, 2**16)
            assert part, "the browser has gone"
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def open(self, path, width=1280, height=900, dark=False):
        """Open a file and wait until it is loaded and painted: before that a browser drops what a pointer does."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Emulation.setScrollbarsHidden", hidden=True)
        self._events.clear()
        self.run("window.isBefore = true")
        self.send("Page.navigate", url=path.as_uri())
        self.wait_for("!window.isBefore && document.readyState === 'complete'")
        self.run(PAINTED)
        return self

    def wait_for(self, condition, seconds=60.0):
        """Return once an expression of the page is true."""
        deadline = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < deadline, f"never true: {condition}"
            time.sleep(0.02)

    def run(self, script):
        """Return the value of an expression of the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self):
        """Return what the page or the browser logged: errors, and what the content policy blocked."""
        self.run("0")
        return [event for event in self._events if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]

    def center(self, selector):
        """Return the center of an element, which is scrolled to."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{element}.scrollIntoView({{block: 'center'}}), {PAINTED}")
        x, y = self.run(f"(b => [b.left + b.width / 2, b.top + b.height / 2])({element}.getBoundingClientRect())")
        return x, y

    def drag(self, selector, across, up):
        """Drag an element by so many pixels."""
        x, y = self.center(selector)
        self._mouse("mouseMoved", x, y)
        self._until_heard(
            "pointerdown", lambda: self._mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        )
        for step in (0.5, 1.0):
            self._mouse("mouseMoved", x + step * across, y - step * up, button="left", buttons=1)
        self._mouse("mouseReleased", x + across, y - up, button="left", clickCount=1)
        self.run(PAINTED)

    def click(self, selector):
        """Click an element."""
        self.drag(selector, 0, 0)

    def press(self, key, modifiers=0):
        """Press a key; modifiers are 2 for Ctrl and 8 for Shift."""
        event = {"key": key, "modifiers": modifiers}
        self._until_heard("keydown", lambda: self.send("Input.dispatchKeyEvent", type="keyDown", **event))
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)
        self.run(PAINTED)

    def type(self, selector, text):
        """Replace the text of an input."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.send("Input.insertText", text=text)
        self.run("document.activeElement.blur()")

    def screenshot(self, path):
        """Write a picture of the whole page."""
        height = self.run("document.documentElement.scrollHeight")
        width = self.run("document.documentElement.clientWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        answer = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def downloaded(self, name):
        """Return the text of a file that the page has offered for download."""
        for _ in range(200):
            if (self.folder / name).exists() and not list(self.folder.glob("*.crdownload")):
                return (self.folder / name).read_text(encoding="utf-8")
            time.sleep(0.02)
        raise AssertionError("nothing was downloaded")

    def _until_heard(self, event, act):
        """Act until the page hears of it: a busy browser may drop what it is sent before the page sees it."""
        self.run(
            f"window.isHeard = false, addEventListener('{event}', () => isHeard = true, {{capture: true, once: true}})"
        )
        for _ in range(20):
            act()
            self.run(PAINTED)
            if self.run("window.isHeard !== false"):  # not defined: the page has gone, by the click
                return
        raise AssertionError(f"the page hears of no {event}")

    def _mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
