"""The certificate of --https: made once, private, for all names of this machine."""

import ipaddress
import ssl
import stat
import sys
from pathlib import Path

import pytest
from cryptography import x509

from robocle.errors import MissingExtraError, StateAccessError
from robocle.web.certificate import certificate


def test_it_names_this_machine_and_is_kept(tmp_path: Path) -> None:
    path = certificate("0.0.0.0", tmp_path)
    first = path.read_bytes()
    found = x509.load_pem_x509_certificate(first)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert ipaddress.ip_address("127.0.0.1") in names.get_values_for_type(x509.IPAddress)
    assert (found.not_valid_after_utc - found.not_valid_before_utc).days <= 825
    assert certificate("0.0.0.0", tmp_path) == path
    assert path.read_bytes() == first
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


@pytest.mark.skipif(sys.platform == "win32", reason="files there have no such permissions")
def test_only_its_owner_reads_the_key(tmp_path: Path) -> None:
    path = certificate("127.0.0.1", tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_address_or_a_damaged_file_needs_a_new_one(tmp_path: Path) -> None:
    path = certificate("127.0.0.1", tmp_path)
    first = path.read_bytes()
    certificate("192.168.77.7", tmp_path)
    second = path.read_bytes()
    assert second != first
    path.write_bytes(b"damaged")
    certificate("192.168.77.7", tmp_path)
    assert x509.load_pem_x509_certificate(path.read_bytes())


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateAccessError, match="cannot write"):
        certificate("127.0.0.1", tmp_path / "file")


def test_without_the_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtraError, match=r"robocle\[web\]"):
        certificate("127.0.0.1", tmp_path)
