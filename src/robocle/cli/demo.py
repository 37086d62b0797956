"""The command that runs the demo."""

from pathlib import Path

import click

from robocle.cli.app import FolderPath, StatePath, main
from robocle.cli.output import echo, echo_lines
from robocle.cli.progress import activity, progress


@main.command(short_help="Teach 29 objects that come with robocle, and test them.")
@click.option("--out", type=StatePath, default="robocle-demo.html", show_default=True,
              help="The page to write, with explanations and pictures.")  # fmt: skip
@click.option("--pictures", type=FolderPath, metavar="FOLDER",
              help="Run nothing; write a few of the pictures to a new FOLDER, to try robocle "
              "with.")  # fmt: skip
def demo(out: Path, pictures: Path | None) -> None:
    """Teach 5 pictures of each of 29 objects, then test them under other conditions.

    The pictures come with robocle. Prints the accuracy of five methods, and how many objects are
    called unknown.
    """
    with activity("starting"):
        from robocle.demo.run import run_demo
        from robocle.reports.demo import as_text, write_report
        from robocle.reports.pages import require_page_path

    if pictures:
        _write_pictures(pictures)
        return
    require_page_path(out)
    result = run_demo(progress)
    echo_lines(as_text(result))
    echo_lines(f"\n{result.seconds:.0f} seconds")
    write_report(result, out)
    echo(f"the page with explanations and pictures is {out}")


def _write_pictures(folder: Path) -> None:
    from robocle.demo.pictures import write_samples

    count = write_samples(folder)
    echo(f"wrote {count} pictures to {folder}")
    echo(f"  {folder / 'teach'}  one folder per label, to be taught")
    echo(f"  {folder / 'test'}   the same objects in other conditions, and one more object")
