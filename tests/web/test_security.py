"""Only those who may reach the learner: Host, Origin, token, rates, and the headers of answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from robocle.backbones import Backbone
from robocle.web import security
from robocle.web.security import FAILURE_BURST, AllowedHosts, RateLimit, is_loopback
from web_client import Api, served

TOKEN = "correct horse battery staple"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, lite0: Backbone) -> Iterator[Api]:
    """A server with a token."""
    path = tmp_path_factory.mktemp("guarded") / "home.robocle"
    with served(path, lite0, token=TOKEN) as api:
        yield api


@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1.attacker.example", "", "a@b"])
def test_a_name_that_is_not_ours_is_refused(host: str, empty: Api) -> None:
    assert empty.get("/api/v1/health", Host=host).status in (400, 421)
    assert empty.get("/", Host=host).status in (400, 421)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:80"])
def test_our_own_names_are_accepted(host: str, empty: Api) -> None:
    assert empty.get("/api/v1/health", Host=host).status == 200


def test_a_server_for_other_machines_is_also_asked_for_by_its_addresses() -> None:
    everywhere, here = AllowedHosts("0.0.0.0", ("teach.example",)), AllowedHosts("127.0.0.1")
    for name in ("192.168.1.7:8000", "[fe80::1]", "teach.example"):
        assert name in everywhere
        assert name not in here
    assert "attacker.example" not in everywhere
    assert "robot:port" not in everywhere


@pytest.mark.parametrize(
    "origin", ["http://attacker.example", "null", "https://127.0.0.1", "http://[", "file://"]
)
def test_pages_of_other_sites_cannot_send_requests(origin: str, empty: Api) -> None:
    assert empty.post("/api/v1/undo", Origin=origin).status == 403
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{empty.port}/api/v1/live", origin=Origin(origin))


def test_browsers_say_that_a_request_comes_from_another_site(empty: Api) -> None:
    assert empty.get("/api/v1/labels", Sec_Fetch_Site="cross-site").status == 403
    assert empty.get("/api/v1/labels", Sec_Fetch_Site="same-origin").status == 200
    assert empty.get("/", Sec_Fetch_Site="cross-site").status == 200  # a link to the page


def test_our_own_page_may_send_requests(empty: Api) -> None:
    assert empty.post("/api/v1/undo", Origin=empty.address).status == 409
    with connect(f"ws://127.0.0.1:{empty.port}/api/v1/live", origin=Origin(empty.address)):
        pass


def test_without_the_token_nothing_but_the_page_and_the_health_is_answered(guarded: Api) -> None:
    stranger = Api(guarded.port)
    assert stranger.get("/api/v1/labels").status == 401
    assert stranger.get("/metrics").status == 401
    assert stranger.post("/api/v1/session").status == 401
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{guarded.port}/api/v1/live")
    assert stranger.get("/api/v1/health").status == 200
    assert stranger.get("/").status == 200


def test_the_token_opens_the_api_and_its_cookie_opens_the_websocket(guarded: Api) -> None:
    assert guarded.get("/api/v1/labels").status == 200
    cookie = guarded.post("/api/v1/session").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    pair = cookie.split(";")[0]
    assert Api(guarded.port).get("/api/v1/labels", Cookie=pair).status == 200
    with connect(
        f"ws://127.0.0.1:{guarded.port}/api/v1/live", additional_headers={"Cookie": pair}
    ) as live:
        assert '"hello"' in str(live.recv(timeout=10))


def test_cookies_of_others_and_of_another_server_on_this_host_do_no_harm(
    guarded: Api, tmp_path: Path, lite0: Backbone
) -> None:
    with served(tmp_path / "other.robocle", lite0, token="another long token") as other:
        pairs = [api.post("/api/v1/session").headers["set-cookie"] for api in (guarded, other)]
        cookies = "; ".join(['prefs={"a":1}', *(pair.split(";")[0] for pair in pairs), "x"])
        assert len({pair.partition("=")[0] for pair in pairs}) == 2
        for api in (guarded, other):
            assert Api(api.port).get("/api/v1/labels", Cookie=cookies).status == 200
        wrong = pairs[0].split(";")[0].replace(str(guarded.port), str(other.port))
        assert Api(other.port).get("/api/v1/labels", Cookie=wrong).status == 401


def test_tokens_cannot_be_guessed_quickly_and_the_right_one_is_always_accepted(
    tmp_path: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "FAILURES_PER_SECOND", 1e-6)  # this machine may be slow
    with served(tmp_path / "home.robocle", lite0, token=TOKEN) as api:
        wrong = [Api(api.port, f"guess {number}") for number in range(int(FAILURE_BURST) + 2)]
        found = [each.get("/api/v1/labels").status for each in wrong]
        assert found == [401] * int(FAILURE_BURST) + [429, 429]
        assert api.get("/api/v1/labels").status == 200


def test_one_address_cannot_send_any_number_of_requests(
    tmp_path: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "REQUESTS_PER_SECOND", 1e-6)
    monkeypatch.setattr(security, "BURST", 5)
    with served(tmp_path / "home.robocle", lite0) as api:
        assert [api.get("/api/v1/labels").status for _ in range(6)] == [200] * 5 + [429]
        assert api.get("/").status == 200


def test_addresses_are_counted_each_and_recover_with_time() -> None:
    now = 0.0
    limit = RateLimit(2, 1, clock=lambda: now)
    assert [limit.allows(address) for address in "aab"] == [True, False, True]
    now = 0.6
    assert limit.allows("a")


def test_the_memory_for_addresses_is_bounded() -> None:
    limit = RateLimit(1, 1)
    for number in range(10_000):
        limit.allows(str(number))
    assert len(limit._buckets) < 5000


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/v1/labels", "/api/v1/none"])
def test_every_answer_has_a_strict_policy(path: str, empty: Api) -> None:
    headers = empty.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert ("no-store" in headers["cache-control"]) == path.startswith("/api")


@pytest.mark.parametrize("path", ["/../app.py", "/%2e%2e/app.py", "/page/main.js", "/app.py", "//"])
def test_no_other_file_is_served(path: str, empty: Api) -> None:
    assert empty.get(path).status == 404


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.8.9.1", True),
     ("0.0.0.0", False), ("192.168.1.7", False), ("robot.local", False)],
)  # fmt: skip
def test_only_loopback_addresses_need_no_token(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
