"""The page behind a real nginx and a real Caddy, with the configurations of the documents."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.sync.client import connect

from server_process import ServerProcess, free_port, program
from video_sources import home_picture
from web_client import Api, ServeProcess

DOCS = (Path(__file__).parents[2] / "docs/http-api.md").read_text("utf-8")
NGINX, CADDY = program("nginx"), program("caddy")
LARGE = 30_000_000

pytestmark = pytest.mark.slow


def documented(language: str, server: int) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    assert "127.0.0.1:8000" in found
    return str(found).replace("127.0.0.1:8000", f"127.0.0.1:{server}")


def nginx(folder: Path, port: int, server: int) -> list[str]:
    temporary = "".join(
        f"{kind}_temp_path {folder};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port};\n"
        f"{documented('nginx', server)}\n}} }}\n"
    )
    return [str(NGINX), "-c", str(folder / "nginx.conf"), "-e", "stderr"]


def caddy(folder: Path, port: int, server: int) -> list[str]:
    (folder / "Caddyfile").write_text(
        "{\nadmin off\nauto_https off\n}\n"
        f"http://127.0.0.1:{port} {{\n{documented('caddy', server)}\n}}\n"
    )
    return [str(CADDY), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@pytest.mark.parametrize(
    "proxy",
    [
        pytest.param(nginx, marks=pytest.mark.skipif(not NGINX, reason="needs nginx")),
        pytest.param(caddy, marks=pytest.mark.skipif(not CADDY, reason="needs Caddy")),
    ],
)
def test_the_page_its_api_and_its_websocket_work_behind_a_proxy(
    proxy: Callable[[Path, int, int], list[str]], tmp_path: Path
) -> None:
    port, folder = free_port(), tmp_path / "proxy"
    folder.mkdir()
    address = f"http://127.0.0.1:{port}/robocle/"
    server = ServeProcess(tmp_path / "home.robocle", "--proxy", address, port=free_port())
    try:
        with ServerProcess(proxy(folder, port, server.port), port, folder):
            link, token = server.address.split("#token=")
            assert link == address
            page = Api(port, token)
            assert b"main.js" in page.get("/robocle/").content
            assert Api(port).get("/robocle/api/v1/labels").status == 401
            picture = home_picture("clean/mug_01/0").read_bytes()
            taught = page.post("/robocle/api/v1/teach?label=mug", picture, Origin=address[:-9])
            assert taught.json["pictures"] == 1
            cookie = page.post("/robocle/api/v1/session").headers["set-cookie"].split(";")[0]
            live = f"ws://127.0.0.1:{port}/robocle/api/v1/live"
            with connect(live, additional_headers={"Cookie": cookie}) as client:
                assert json.loads(client.recv(timeout=30))["event"] == "hello"
                client.send(b'{"id": 1}\n' + picture)
                while json.loads(client.recv(timeout=30)).get("id") != 1:
                    pass
            assert page.post("/robocle/api/v1/predict", bytes(LARGE)).status == 413
            # Everyone is counted by the address that the proxy names, and nobody else names one.
            other = {"X_Forwarded_For": "10.0.0.7"}
            wrong = [
                Api(server.port, f"guess {n}").get("/api/v1/labels", **other) for n in range(11)
            ]
            assert wrong[-1].status == 429
            assert Api(port, "another guess").get("/robocle/api/v1/labels").status == 401
    finally:
        assert server.stop()[::2] == (0, "")
