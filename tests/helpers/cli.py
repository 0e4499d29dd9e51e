"""The command line, called from tests."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from kinetree.cli.app import app

_runner = CliRunner()


def invoke(*arguments: object, code: int = 0) -> Any:
    """Run a command within this process; its exit code must be as said."""
    result = _runner.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result
