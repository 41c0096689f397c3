"""A headless Chromium for tests of pages; where there is none, they skip and say so."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def missing():
    """What a test with a browser lacks here, in words; None if nothing."""
    found = {
        "chromium": CHROMIUM,
        "chromedriver (chromium-driver)": DRIVER,
        "selenium": find_spec("selenium"),
    }
    lacking = [name for name, where in found.items() if where is None]
    return f"no browser to open pages in: {', '.join(lacking)} not installed" if lacking else None


class Browser:
    """Opens files, and notes what they ask for and complain of."""

    def __init__(self, profile):
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # The driver by its path: Selenium would otherwise look for one in the net.
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))

    def open(self, path, *, width=1280, dark=False, media=""):
        """Show a file; returns the requests that it made, and the lines on its console."""
        self.driver.get("about:blank")
        for kind in ("performance", "browser"):
            self.driver.get_log(kind)
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
        self.driver.get(Path(path).resolve().as_uri())
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        requests = [
            m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"
        ]
        return requests, [entry["message"] for entry in self.driver.get_log("browser")]

    def run(self, script, *arguments):
        """The value of a piece of JavaScript with ``return``."""
        return self.driver.execute_script(script, *arguments)

    def close(self):
        self.driver.quit()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if missing() is not None:
        pytest.skip(missing())
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
