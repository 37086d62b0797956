"""Adding a backbone to this machine: export it once, keep it in a model folder, run it anywhere.

Only `timm_networks` and `torchvision_networks` need PyTorch: they are imported at first use.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

from robocle.backbones.added import added_folder, how_to_add, read_added, write_added
from robocle.backbones.efficientnet_lite import PUBLISHED, require_weights
from robocle.backbones.model_folder import Manifest
from robocle.backbones.names import ARCHITECTURES, require_size, sized_name, split_size
from robocle.errors import BackboneError, MissingExtraError, SpecError
from robocle.spec import parse_spec, suggestion

Model = tuple[Manifest, bytes]
PLAIN_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
RESERVED = (*PUBLISHED, "timm", "onnx")
# The only published weights that all networks of the paper have.
DEFAULT_WEIGHTS = "IMAGENET1K_V1"


@dataclass(frozen=True)
class Recipe:
    """The source of a model, and a function that builds it."""

    source: str
    make: Callable[[], Model]
    own_size: Callable[[], int]
    """Returns the side of the network's own input; 0 if it is only known with the weights."""


@dataclass(frozen=True)
class Added:
    """A backbone that is on this machine."""

    manifest: Manifest
    folder: Path
    is_new: bool
    """False if it had been added before."""


def add_backbone(
    spec: str,
    weights: str = "",
    name: str = "",
    replaces: bool = False,
    earlier: str = "",
    size: int = 0,
) -> Added:
    """Add a backbone to this machine, unless it was added before from the same source.

    Args:
        spec: One of the sixteen networks of the paper, "timm:MODEL" or "onnx:FILE,...".
        weights: The name of published weights, or a checkpoint file. By default the published
            weights are downloaded.
        name: The name to add it under. Only an ONNX file needs one. The default is the spec, with
            the size at its end if that is not the network's own, as in "resnet50_288".
        replaces: Whether to replace a backbone of the same name.
        earlier: The module of a PyTorch network whose output is the earlier map, or "none". By
            default one is looked for. An ONNX file has an option of this name in its spec.
        size: The side of the input: a multiple of 32, or 0 for the network's own. An ONNX file has
            an option of this name in its spec.

    Raises:
        SpecError: There is no such network, or the size is out of range.
        BackboneError: The name is taken or invalid, or the network cannot be exported, or not for
            this size.
        MissingExtraError: PyTorch is needed and not installed.
    """
    added_as = _usable_name(spec, name, size)
    recipe = _recipe(spec, weights, earlier, size)
    existing = _existing(added_as)
    if existing is not None and existing.source == recipe.source and not replaces:
        return Added(existing, added_folder(added_as), is_new=False)
    if size:
        if size == recipe.own_size():
            return add_backbone(spec, weights, name, replaces, earlier)
        require_size(size)
        _require_no_timm_name(added_as)
    if existing is not None and not replaces:
        raise BackboneError(
            f"{added_as} was already added, from {existing.source}: replace it with --replace "
            "(states taught with it can then no longer be used), or add this one under another "
            "--name"
        )
    manifest, model = recipe.make()
    manifest = replace(manifest, name=added_as, source=recipe.source)
    return Added(manifest, write_added(manifest, model), is_new=True)


def _existing(name: str) -> Manifest | None:
    """Return the added backbone of a name, unless it is damaged."""
    try:
        return read_added(name)[0]
    except BackboneError:
        return None


def _usable_name(spec: str, name: str, size: int) -> str:
    kind = parse_spec(spec).name
    default = sized_name(spec, size) if size else spec
    if not name and kind == "onnx":
        raise BackboneError(f"{spec} needs a name: choose one with --name")
    if name in ("", default):
        return default
    if not re.fullmatch(PLAIN_NAME, name):
        raise BackboneError(f"{name!r} is not a valid name: use letters, digits, _ - and .")
    network, _ = split_size(name)
    if name in RESERVED or (network in (*ARCHITECTURES, *PUBLISHED) and name != kind):
        raise BackboneError(f"{name} is the name of another backbone: choose a different one")
    return name


def _recipe(spec: str, weights: str, earlier: str, size: int) -> Recipe:
    parsed = parse_spec(spec)
    if parsed.name == "onnx":
        return _user_recipe(spec, weights, earlier, size)
    if parsed.name == "timm" and parsed.first and not parsed.options:
        return _torch_recipe("timm", parsed.first, weights, earlier, size)
    if parsed.name in ARCHITECTURES and parsed.name == spec:
        return _torch_recipe("torchvision", spec, weights or DEFAULT_WEIGHTS, earlier, size)
    raise _nothing_to_add(spec, parsed.name, size)


def _torch_recipe(package: str, model: str, weights: str, earlier: str, size: int) -> Recipe:
    def make() -> Model:
        network = _networks(package, model).load_network(model, weights, size)
        from robocle.backbones.adding.torch_networks import export

        return export(network, earlier)

    return Recipe(
        _source(f"{package} {model}", weights or "published", earlier=earlier, size=size),
        make,
        lambda: int(_networks(package, model).own_size(model, weights)),
    )


def _nothing_to_add(spec: str, name: str, size: int) -> Exception:
    if name in PUBLISHED:
        require_weights(name)
        use = f": use it as {name}:size={size}" if size else ""
        return BackboneError(f"{spec} comes with robocle, so there is nothing to add{use}")
    if split_size(spec)[0] in ARCHITECTURES:
        return SpecError(f"there is no backbone {spec!r} to add: {how_to_add(spec)}")
    close = suggestion(spec, [*ARCHITECTURES, "timm:MODEL", "onnx:FILE"])
    return SpecError(f"there is no backbone {spec!r} to add: {close}")


def _source(network: str, weights: str, **options: object) -> str:
    """Return the source for the manifest, which is known without PyTorch and before a download."""
    file = Path(weights)
    if file.is_file():
        try:
            with file.open("rb") as content:
                weights = "file " + hashlib.file_digest(content, "sha256").hexdigest()[:8]
        except OSError as error:
            raise BackboneError(f"cannot read {file}: {error.strerror}") from error
    chosen = (f", {option}={value}" for option, value in options.items() if value)
    return f"{network} {weights}{''.join(chosen)}"


def _networks(package: str, model: str) -> ModuleType:
    """Return the module that loads the networks of timm or torchvision, which need PyTorch."""
    try:
        return import_module(f"robocle.backbones.adding.{package}_networks")
    except ImportError as error:
        raise MissingExtraError("export", f"adding {model} needs PyTorch ({error})") from error
    except RuntimeError as error:
        raise BackboneError(
            f"{package} does not fit the installed torch ({error}): reinstall both"
        ) from error


def _require_no_timm_name(name: str) -> None:
    """Raise if the name of a network of timm at another size is timm's name for another one."""
    model = name.removeprefix("timm:")
    if name != model and _networks("timm", model).is_known(model):
        raise BackboneError(f"{name} is the name of another backbone: choose one with --name")


def _user_recipe(spec: str, weights: str, earlier: str, size: int) -> Recipe:
    from robocle.backbones import BACKBONES
    from robocle.backbones.adding.user_onnx import UserOnnx

    if weights:
        raise BackboneError("an ONNX file contains its own weights: remove --weights")
    if earlier:
        raise BackboneError(f"give the earlier map of an ONNX file as {spec},earlier={earlier}")
    if size:
        raise BackboneError(f"give the size of an ONNX file as {spec},size={size}")
    network = BACKBONES.build(spec)
    assert isinstance(network, UserOnnx)
    start = hashlib.sha256(network.model_bytes()).hexdigest()[:8]
    return Recipe(
        f"onnx file {start}",
        lambda: (network.manifest, network.model_bytes()),
        lambda: network.input_size,
    )
