"""The browser of this machine, for tests of pages."""

import shutil

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
"""Its path; empty if there is none."""
NO_BROWSER = "no browser: install Chromium, with `apt-get install chromium` or from its site"
