"""Adding a backbone to this machine: exported once, kept in a model folder, run without PyTorch.

Only the exports need PyTorch, and only this module imports them, when it is asked to.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from robocle.backbones.added import added_folder, added_names, read_added, write_added
from robocle.backbones.architectures import ARCHITECTURES
from robocle.backbones.model_folder import Manifest
from robocle.errors import BackboneError, MissingExtraError, SpecError
from robocle.spec import parse_spec, suggestion

Model = tuple[Manifest, bytes]
PLAIN_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
RESERVED = ("efficientnet_lite0", "timm", "onnx")
# The only published weights that all of the paper's networks have.
DEFAULT_WEIGHTS = "IMAGENET1K_V1"


@dataclass(frozen=True)
class Recipe:
    """Where a model comes from, and how it is made."""

    source: str
    make: Callable[[], Model]


@dataclass(frozen=True)
class Added:
    """What is on this machine now."""

    manifest: Manifest
    folder: Path
    is_new: bool


def add_backbone(spec: str, weights: str = "", name: str = "", replaces: bool = False) -> Added:
    """Add one of the paper's networks, "timm:MODEL" or "onnx:FILE,..." under its or another name.

    The weights are published ones by their name, or a file. What is here already from the same
    source is left alone; from another source it is only replaced if that is wanted.
    """
    recipe = _recipe(spec, weights)
    name = _usable_name(spec, name)
    folder = added_folder(name)
    here = _here(name)
    if here is not None and here.source == recipe.source:
        return Added(here, folder, is_new=False)
    if here is not None and not replaces:
        raise BackboneError(
            f"{name} is here already, from {here.source}: replace it with --replace (states taught "
            "with it will not load any more), or add this one under another --name"
        )
    manifest, model = recipe.make()
    manifest = replace(manifest, name=name, source=recipe.source)
    return Added(manifest, write_added(manifest, model), is_new=True)


def _here(name: str) -> Manifest | None:
    """The added backbone of a name, if it is sound."""
    if name not in added_names():
        return None
    try:
        return read_added(name)[0]
    except BackboneError:
        return None


def _usable_name(spec: str, name: str) -> str:
    kind = parse_spec(spec).name
    if not name and kind == "onnx":
        raise BackboneError(f"give {spec} a name of your choice with --name")
    if not name:
        return spec
    if not re.fullmatch(PLAIN_NAME, name):
        raise BackboneError(f"{name!r} cannot be a name: use letters, digits, _ - and .")
    if name in RESERVED or (name in ARCHITECTURES and name != kind):
        raise BackboneError(f"{name} is the name of another backbone: choose a new one")
    return name


def _recipe(spec: str, weights: str) -> Recipe:
    parsed = parse_spec(spec)
    if parsed.name == "onnx":
        return _user_recipe(spec, weights)
    if parsed.name == "timm" and parsed.first and not parsed.options:
        source = _source(spec.replace(":", " "), weights or "published")
        return Recipe(source, lambda: _from_timm(parsed.first, weights))
    if parsed.name in ARCHITECTURES and parsed.name == spec:
        source = _source(f"torchvision {spec}", weights or DEFAULT_WEIGHTS)
        return Recipe(source, lambda: _from_torchvision(spec, weights or DEFAULT_WEIGHTS))
    if spec == RESERVED[0]:
        raise BackboneError(f"{spec} comes with robocle: there is nothing to add")
    close = suggestion(spec, [*ARCHITECTURES, "timm:MODEL", "onnx:FILE"])
    raise SpecError(f"no backbone {spec!r} can be added: {close}")


def _source(network: str, weights: str) -> str:
    """What stands in the manifest: known without PyTorch, and before anything is downloaded."""
    file = Path(weights)
    if not file.is_file():
        return f"{network} {weights}"
    try:
        with file.open("rb") as content:
            return f"{network} file {hashlib.file_digest(content, 'sha256').hexdigest()[:8]}"
    except OSError as error:
        raise BackboneError(f"cannot read {file}: {error.strerror}") from error


def _from_torchvision(name: str, weights: str) -> Model:
    with _export_extra(name, "torchvision"):
        from robocle.backbones.export.torch_export import export
        from robocle.backbones.export.torchvision_export import torchvision_network
    return export(torchvision_network(name, weights))


def _from_timm(model: str, weights: str) -> Model:
    with _export_extra(f"timm:{model}", "timm"):
        from robocle.backbones.export.timm_export import timm_network
        from robocle.backbones.export.torch_export import export
    return export(timm_network(model, weights))


@contextmanager
def _export_extra(name: str, package: str) -> Iterator[None]:
    """Say what to install if the exports cannot be imported."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError("export", f"adding {name} needs PyTorch ({error})") from error
    except RuntimeError as error:
        raise BackboneError(
            f"{package} does not fit the torch that is installed ({error}): install both anew"
        ) from error


def _user_recipe(spec: str, weights: str) -> Recipe:
    from robocle.backbones import BACKBONES
    from robocle.backbones.export.user_onnx import UserOnnx

    if weights:
        raise BackboneError("an ONNX file holds its own weights: leave out --weights")
    network = BACKBONES.build(spec)
    assert isinstance(network, UserOnnx)
    function = hashlib.sha256(network.model_bytes()).hexdigest()[:8]
    return Recipe(f"onnx file {function}", lambda: (network.manifest, network.model_bytes()))
