"""A self-signed certificate, so that browsers on other devices may use their camera.

It is kept in the cache folder: a browser that has accepted it does not warn again.
"""

import datetime
import ipaddress
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from robocle.backbones.model_folder import cache_folder
from robocle.errors import MissingExtraError, StateAccessError
from robocle.web.security import LOOPBACK

if TYPE_CHECKING:
    from cryptography import x509

DAYS = 800
"""How long it is valid. Some systems refuse certificates of more than 825 days."""
RENEWED_DAYS = 30


def own_address() -> str:
    """Return the address of this machine in its network; empty if it has none. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # an address for documentation
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def certificate(host: str, folder: Path | None = None) -> Path:
    """Return the file of a certificate for this machine, with its key.

    Args:
        host: The address that the server listens on.
        folder: Where it is kept; None for the cache folder.

    Raises:
        MissingExtraError: The package cryptography is not installed.
        StateAccessError: The file cannot be written.
    """
    folder = folder or cache_folder() / "https"
    path, names = folder / "key-and-certificate.pem", _names(host)
    try:
        if not _is_usable(path, names):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_private(path, _created(names))
    except ImportError as error:
        raise MissingExtraError("web", "--https needs the package cryptography") from error
    except OSError as error:
        raise StateAccessError.of("write", path, error) from error
    return path


def _names(host: str) -> list[str]:
    own = socket.gethostname()
    first = own.split(".")[0]
    found = [*LOOPBACK, own, f"{first}.local", own_address(), host]
    return sorted({name for name in found if name and name not in ("0.0.0.0", "::")})


def _write_private(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _is_usable(path: Path, names: list[str]) -> bool:
    from cryptography import x509

    if not path.is_file():
        return False
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
        listed = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=RENEWED_DAYS)
    return found.not_valid_after_utc > later and all(_entry(name) in listed for name in names)


def _entry(name: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _created(names: list[str]) -> bytes:
    """Return a new key, and a certificate for it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "robocle teach page")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives = x509.SubjectAlternativeName([_entry(name) for name in names])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    signed = (
        x509.CertificateBuilder()
        .subject_name(title)
        .issuer_name(title)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(alternatives, critical=False)
        .add_extension(usage, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    kept = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return kept + signed.public_bytes(pem)
