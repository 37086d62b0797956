"""Logging in with a certificate and with credentials, as a server of NATS demands it."""

import base64
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_one_line, assert_refused, run
from nats_server import FLEET, NatsServer, requires_nats
from robocle.fleet.server import PASSWORD_VARIABLE
from robots import opened, teach

pytestmark = [requires_nats, pytest.mark.slow]
nkeys = pytest.importorskip("nkeys")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state that was taught a picture."""
    path = tmp_path / "home.robocle"
    with opened(path, "slda") as learner:
        teach(learner, "mug")
    return path


def test_an_encrypted_connection_needs_the_certificate_of_the_authority(
    state: Path, tmp_path: Path
) -> None:
    from robocle.web.certificate import certificate

    pem = certificate("127.0.0.1", tmp_path)
    with NatsServer(tmp_path, f'tls {{ cert_file: "{pem}", key_file: "{pem}" }}') as server:
        url = server.url.replace("nats://", "tls://")
        found = run("fleet", "join", state, url, "--fleet", FLEET, "--once", "--tls-ca", pem)
        assert found.exit_code == 0, found.stderr
        for address in (url, server.url):
            found = run("fleet", "status", address, "--fleet", FLEET)
            assert found.exit_code == 1
            assert_one_line(found.stderr)
            assert "a certificate that is not trusted" in found.stderr
        (tmp_path / "no.pem").write_text("nothing")
        found = run("fleet", "status", url, "--fleet", FLEET, "--tls-ca", tmp_path / "no.pem")
        assert "is not a certificate" in found.stderr
        assert "has left house" in run("fleet", "leave", state).stdout
        status = run("fleet", "status", url, "--fleet", FLEET, "--tls-ca", pem)
        assert " left " in status.stdout  # the robot has logged in with the same certificate


ACCOUNTS = "accounts { A { jetstream: enabled }, B { users: [ {user: robot, password: x} ] } }"


@pytest.mark.parametrize(
    ("config", "user", "words"),
    [
        ("leafnodes { }", "", "has no JetStream: start nats-server with -js"),
        (ACCOUNTS, "robot@", "has no JetStream for the account of this user"),
    ],
)
def test_a_server_or_an_account_without_jetstream_is_one_line(
    config: str, user: str, words: str, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "x")
    with NatsServer(tmp_path, config) as server:
        url = server.url.replace("//", f"//{user}")
        assert_refused(run("fleet", "join", state, url, "--fleet", FLEET), words)


def test_credentials_of_the_operator_let_a_robot_in(state: Path, tmp_path: Path) -> None:
    creds = tmp_path / "robot.creds"
    with NatsServer(tmp_path, with_accounts(creds)) as server:
        found = run(
            "fleet", "join", state, server.url, "--fleet", FLEET, "--once", "--creds", creds
        )
        assert found.exit_code == 0, found.stderr
        assert "published 1 change" in found.stdout
        found = run("fleet", "join", state, server.url, "--fleet", FLEET, "--once")
        assert found.exit_code == 1
        assert_one_line(found.stderr)
        assert "refuses a login without a user" in found.stderr


class Key:
    """A new pair of keys of NATS, and the name that others know it by."""

    def __init__(self, kind: int) -> None:
        self.seed = nkeys.encode_seed(os.urandom(32), kind)
        self.pair = nkeys.from_seed(bytearray(self.seed))
        self.name = bytes(self.pair.public_key).decode()

    def signed(self, kind: str, subject: str, **values: Any) -> str:
        """Return a token about a subject."""
        claims = {"iat": int(time.time()), "iss": self.name, "name": kind, "sub": subject,
                  "nats": {"type": kind, "version": 2, **values}}  # fmt: skip
        claims["jti"] = hashlib.sha256(json.dumps(claims).encode()).hexdigest()
        head = {"typ": "JWT", "alg": "ed25519-nkey"}
        text = ".".join(encoded(json.dumps(each).encode()) for each in (head, claims))
        return f"{text}.{encoded(self.pair.sign(text.encode()))}"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def with_accounts(creds: Path) -> str:
    """Write the credentials of a user, and return the configuration of a server that knows it."""
    operator = Key(nkeys.PREFIX_BYTE_OPERATOR)
    account, system = Key(nkeys.PREFIX_BYTE_ACCOUNT), Key(nkeys.PREFIX_BYTE_ACCOUNT)
    user = Key(nkeys.PREFIX_BYTE_USER)
    any_number = dict.fromkeys(
        ("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1
    )
    stored = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)
    anything = {**any_number, "wildcards": True}
    tokens = {
        account.name: operator.signed("account", account.name, limits={**anything, **stored}),
        system.name: operator.signed("account", system.name, limits=anything),
    }
    creds.write_text(
        f"-----BEGIN NATS USER JWT-----\n{account.signed('user', user.name, **any_number)}\n"
        "------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    known = ", ".join(f"{name}: {token}" for name, token in tokens.items())
    return (
        f"operator: {operator.signed('operator', operator.name)}\n"
        f"system_account: {system.name}\nresolver: MEMORY\nresolver_preload {{ {known} }}\n"
    )
