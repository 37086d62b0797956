"""Fixtures for the tests of backbones: torchvision, checkpoints, and an empty cache."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import pytest

from add_with_random_weights import load_torchvision
from robocle.backbones.model_folder import CACHE_VARIABLE


class Checkpoint(Protocol):
    """Writes the seeded random weights of a network to a file."""

    def __call__(self, name: str, seed: int = 0) -> Path: ...


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that coverage does not follow: it would double the time of an export."""

    def call(*arguments: Any, **options: Any) -> Any:
        before = sys.gettrace()
        sys.settrace(None)
        try:
            return function(*arguments, **options)
        finally:
            sys.settrace(before)

    return call


@pytest.fixture(scope="session")
def torchvision() -> Any:
    """torchvision, for exports that coverage does not follow."""
    torch = pytest.importorskip("torch")
    if not find_spec("torchvision"):
        pytest.skip("needs torchvision")
    torch.set_num_threads(1)
    torch.onnx.export = untraced(torch.onnx.export)
    return load_torchvision()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for this test."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def checkpoint(torchvision: Any, tmp_path: Path) -> Checkpoint:
    import torch

    def write(name: str, seed: int = 0) -> Path:
        torch.manual_seed(seed)
        path = tmp_path / f"{name}-{seed}.pth"
        torch.save(torchvision.models.get_model(name).state_dict(), path)
        return path

    return write
