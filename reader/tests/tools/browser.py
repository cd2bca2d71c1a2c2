"""
A headless Chromium, driven over its debugging protocol, with nothing but Python's standard library. For tests of pages.

SPDX-License-Identifier: MIT
"""

import base64
import collections
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

import cases

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
         "--remote-allow-origins=*"]


class BrowserError(cases.Failure):
    """The browser did not do what it was asked."""


def find():
    """The path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class WebSocket:
    """A client of RFC 6455, for texts."""

    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), timeout=30)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.receive()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise BrowserError(f"no websocket: {head!r}")

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise BrowserError("the browser closed the connection")
        self.buffer += data

    def take(self, nbytes):
        while len(self.buffer) < nbytes:
            self.receive()
        data, self.buffer = self.buffer[:nbytes], self.buffer[nbytes:]
        return data

    def send(self, text, opcode=1):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        length = (bytes([0x80 | size]) if size < 126 else
                  bytes([0x80 | 126]) + struct.pack(">H", size) if size < 65536 else bytes([0x80 | 127]) + struct.pack(">Q", size))
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def next_text(self, seconds):
        """The next message; None if there is none in this time."""
        self.socket.settimeout(max(seconds, 0.001))
        whole = b""
        try:
            if not self.buffer:
                self.receive()
        except TimeoutError:
            return None
        finally:
            self.socket.settimeout(30)
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.take(8))[0]
            data = self.take(size)
            if first & 15 == 8:
                raise BrowserError("the browser ended the connection")
            if first & 15 == 9:
                self.send(data.decode(), 10)
                continue
            whole += data
            if first & 0x80:
                return whole.decode()


class Browser:
    """A browser with an empty profile. Use it in 'with'."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="tracebed-browser-")
        self.process = subprocess.Popen([find(), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            self.port = self.wait_for_port()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait_for_port(self):
        path, limit = os.path.join(self.profile, "DevToolsActivePort"), time.monotonic() + 60
        while time.monotonic() < limit:
            if os.path.exists(path) and os.path.getsize(path) > 0:
                with open(path, encoding="utf-8") as file:
                    lines = file.read().split("\n")
                if len(lines) >= 2:
                    return int(lines[0])
            if self.process.poll() is not None:
                raise BrowserError(f"the browser ended with status {self.process.returncode}")
            time.sleep(0.02)
        raise BrowserError("the browser did not start within a minute")

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        limit = time.monotonic() + 10
        while os.path.exists(self.profile) and time.monotonic() < limit:
            shutil.rmtree(self.profile, ignore_errors=True)

    def page(self, width=1280, height=800, **settings):
        """A new tab, with nothing in it."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=30) as answer:
            target = json.load(answer)
        return Page(self.port, target["id"], width, height, **settings)


class Page:
    """A tab. What goes wrong in it, and what it writes into its console, is in 'problems'."""

    def __init__(self, port, target, width, height, dark=False, scale=1):
        self.port, self.target = port, target
        self.web_socket = WebSocket("127.0.0.1", port, f"/devtools/page/{target}")
        self.number, self.answers, self.problems = 0, {}, []
        self.events = collections.deque(maxlen=10000)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height, scale)
        self.dark(dark)

    # ---- The protocol ----

    def read(self, seconds):
        text = self.web_socket.next_text(seconds)
        if text is None:
            return
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
            return
        self.events.append(message)
        method, values = message["method"], message["params"]
        if method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{values['entry']['text']} {values['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.problems.append(str([value.get("value") for value in values["args"]]))

    def call(self, method, **values):
        self.number += 1
        number, limit = self.number, time.monotonic() + 60
        self.web_socket.send(json.dumps({"id": number, "method": method, "params": values}))
        while number not in self.answers:
            if time.monotonic() > limit:
                raise BrowserError(f"{method}: no answer within a minute")
            self.read(1)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        return answer["result"]

    # ---- What a user does ----

    def open(self, address):
        self.call("Page.navigate", url=address)

    def run(self, script):
        """The value of an expression of the page, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, script, seconds=30):
        """Waits until an expression is true, and gives its value."""
        limit = time.monotonic() + seconds
        while True:
            try:
                value = self.run(script)
            except BrowserError as error:
                if "context" not in str(error) and "navigated" not in str(error):  # a page that is just being left
                    raise
                value = None
            if value not in (None, False, 0, ""):
                return value
            if time.monotonic() > limit:
                raise BrowserError(f"not within {seconds} s: {script}; problems: {self.problems}")
            self.read(0.01)

    CODES = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Escape": 27, "Tab": 9, "Backspace": 8}

    def key(self, key, shift=False, alt=False):
        code = self.CODES.get(key) or ord(key.upper()[0])
        values = {"key": key, "modifiers": (8 if shift else 0) | (1 if alt else 0), "windowsVirtualKeyCode": code}
        if len(key) == 1 and not alt:
            values["text"] = key
        elif key == "Enter":
            values["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **values)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{name: value for name, value in values.items() if name != "text"})

    def type(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, clicks=1, shift=False, pressed=True):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if pressed else "none", buttons=1 if pressed else 0,
                  clickCount=clicks, modifiers=8 if shift else 0)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y, clicks=0, pressed=False)

    def click(self, x, y, clicks=1):
        for count in range(1, clicks + 1):
            self.mouse("mousePressed", x, y, count)
            self.mouse("mouseReleased", x, y, count)

    def drag(self, x0, y0, x1, y1, shift=False):
        self.mouse("mousePressed", x0, y0, shift=shift)
        for step in range(1, 6):
            self.mouse("mouseMoved", x0 + (x1 - x0) * step / 5, y0 + (y1 - y0) * step / 5, shift=shift)
        self.mouse("mouseReleased", x1, y1, shift=shift)

    def wheel(self, x, y, delta_x=0, delta_y=0, control=False):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=delta_x, deltaY=delta_y, modifiers=2 if control else 0)

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def picture(self, path):
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        with open(path, "wb") as file:
            file.write(data)

    def close(self):
        self.call("Page.close")
