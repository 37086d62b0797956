"""Commands that show robocle at work: the demo, and the renderer of its pictures."""

from pathlib import Path

import click

from robocle.cli.app import StatePath, main, progress


@main.command()
@click.option("--out", type=StatePath, default="robocle-demo.html", show_default=True,
              help="Where the report goes.")  # fmt: skip
def demo(out: Path) -> None:
    """Teach 5 pictures of each object, meet it in other conditions, and report."""
    from robocle.demo.run import run_demo
    from robocle.reports.benchmark import require_report_extra
    from robocle.reports.demo_page import write_report
    from robocle.reports.demo_table import as_text

    require_report_extra()
    result = run_demo(progress)
    click.echo(as_text(result))
    write_report(result, out)
    click.echo(f"\n{result.seconds:.0f} seconds; the report with plots and pictures is in {out}")
