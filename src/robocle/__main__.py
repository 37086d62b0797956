"""`python -m robocle`: the command, where its script is not on the path."""

from robocle.cli import main

main(prog_name="robocle")
