"""Where pages may be written, and what they need."""

import stat
import sys
from pathlib import Path

import pytest

from refusal import SetUmask
from robocle.errors import MissingExtraError, RobocleError
from robocle.reports.pages import require_page_path, require_report_extra, write_page


def test_a_page_must_be_called_html(tmp_path: Path) -> None:
    require_page_path(tmp_path / "page.html")
    require_page_path(Path("page.HTM"))
    with pytest.raises(RobocleError, match=r"ends in \.html"):
        require_page_path(tmp_path / "home.robocle")


def test_the_folder_of_a_page_must_exist(tmp_path: Path) -> None:
    with pytest.raises(RobocleError, match="there is no folder"):
        require_page_path(tmp_path / "no" / "page.html")


def test_a_page_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    with pytest.raises(RobocleError, match="cannot write"):
        write_page(tmp_path / "page.html", "<p>")


@pytest.mark.parametrize("library", ["joblib", "matplotlib"])
def test_a_missing_library_names_the_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_report_extra()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"{library}: pip install 'robocle\[bench\]'"):
        require_report_extra()


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077], ids=oct)
def test_a_page_gets_the_permissions_that_the_umask_leaves(
    umask: int, tmp_path: Path, set_umask: SetUmask
) -> None:
    set_umask(umask)
    write_page(tmp_path / "page.html", "<p>")
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o666 & ~umask
