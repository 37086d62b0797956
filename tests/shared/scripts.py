"""Scripts outside the package, such as those that write figures into documents, as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def imported_script(path: str) -> ModuleType:
    """Return a script as a module.

    Args:
        path: Its path, relative to the root of the repository.
    """
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
