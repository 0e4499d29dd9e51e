"""Properties of a model that a format cannot express, which writers report in one warning."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ModelWarning, UnsupportedError, warn
from ..joint_fields import FIELDS
from ..tree import Joint, Model


def of_joint(joint: Joint, language: str) -> list[str]:
    """Return the numbers of a joint that a format cannot express, named as in the table of joint fields."""
    rows = [row for row in FIELDS.values() if row.noun and not getattr(row, language)]
    lost = [row.noun for row in rows if not row.is_usual(joint.kind, getattr(joint, row.name))]
    return [f"{noun} of joint {joint.name!r}" for noun in dict.fromkeys(lost)]


def of_drives(model: Model, language: str) -> list[str]:
    """Return what is lost if only bodies and joints are written; refuse if that would change the motion."""
    for tendon in model.tendons:
        if tendon.stiffness or tendon.damping:
            what = f"the spring or damper along tendon {tendon.name!r}"
            raise UnsupportedError(f"{language} cannot express {what}: write .yaml")
    return [
        *(f"tendon {t.name!r}" for t in model.tendons),
        *(f"actuator {a.name!r}" for a in model.actuators),
        *(f"configuration {c.name!r}" for c in model.configurations),
        *(f"the wrench on {load.body!r}" for load in model.loads),
    ]


def warn_of(lost: Sequence[str], language: str) -> None:
    """Warn of what is lost, if anything: each property once, with the names of all joints that have it."""
    kinds: dict[str, list[str]] = {}
    for words in lost:
        what, joint, name = words.rpartition("joint '")
        alone = not joint or not name.endswith("'") or "'" in name[:-1]
        kinds.setdefault(words if alone else what, []).extend([] if alone else [f"'{name}"])
    listed = "; ".join(
        what if not names else f"{what}joint {names[0]}" if len(names) == 1 else f"{what}joints {', '.join(names)}"
        for what, names in kinds.items()
    )
    if lost:
        message = f"not written, because {language} no word for it: {listed}"
        warn(message, ModelWarning)
