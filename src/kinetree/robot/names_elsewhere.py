"""Names from other libraries and textbooks, and what they are called here."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def tables() -> dict[str, dict[str, str]]:
    """Read ``names_elsewhere.yaml``: the tables METHODS, FUNCTIONS and INTEGRATORS."""
    import yaml  # for users who ask for a name that does not exist

    return dict(yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")))


def _plain(name: str) -> str:
    plain = name.lower().replace("_", "")
    for verb in ("compute", "calc", "eval", "get"):
        plain = plain.removeprefix(verb)
    return plain


def method_called(name: str) -> str | None:
    """Return the method or property of a robot that has this name elsewhere, or None."""
    return tables()["METHODS"].get(_plain(name)) or tables()["METHODS"].get(name.lower().replace("_", ""))


def function_called(name: str) -> str | None:
    """Return the function of the package that has this name elsewhere, or None."""
    plain = name.lower().replace("_", "")
    method = method_called(name)
    return tables()["FUNCTIONS"].get(plain) or (
        method if method is None or method.startswith("kinetree.") else f"robot.{method} of a robot, see kinetree.load"
    )


def integrator_called(name: object) -> str | None:
    """Return the integrator that has this name elsewhere, or None."""
    return tables()["INTEGRATORS"].get(str(name).lower().replace("_", "").replace("-", ""))
