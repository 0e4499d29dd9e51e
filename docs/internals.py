"""What the reference leaves out: settings in capitals, steps of our own, and methods that a described class describes.

A controller, force, joint or trajectory answers the questions of its base class, which the reference describes once, on the
page of the base class: who writes one of their own reads them there.  This is an extension of Griffe, which reads the
source for mkdocstrings; mkdocs.yml names it.
"""

from __future__ import annotations

from typing import Any

import griffe

ASKED = {
    "ActingElement", "ContactLaw", "Controller", "Design", "ForceElement", "FrictionLaw", "JointKind", "MotionGoal", "NormalLaw",
    "Observer", "PointGoal", "Sensor", "Surface", "SweepStudy", "Trajectory",
}  # fmt: skip
"""Classes whose methods are questions to those derived from them."""

OWN_STEPS = {
    "Commanded": "current motors names",
    "Controller": "adjustable bound inner joints known plain_function refuse_no_numbers refuse_no_trajectory takes_to_fall",
    "DrivenRobot": "misfit nearest refuse_contradictions",
    "ForceElement": "check_number",
    "Ground": "host",
    "Identified": "equations fitted_columns given known matrix solution",
    "MassProperties": "halved require_writable spatial",
    "Parametric": "scalars stand_in tree",
    "Pose": "spatial",
    "Prescribed": "by_joint check is_long numbers on_motion others placed start wanted whole_start",
    "RigidContacts": "check_finite constraint_rows look reach resolution result resolve sliding_directions solve touching",
    "Sampled": "check decide driven encoders estimate filtered first_memory function limits noise",
    "Simulator": "equation",
    "Sum": "inner",
    "Trajectory": "check_axes is_batched kinks",
    "Walk": "check check_axes",
    "errors": "ExplainsArguments as_public explain_public explains_arguments no_such_name refuse_unknown_arguments shown wrong_arguments",
}
"""Public to other packages of kinetree, of no use to its users: by class or module."""

EVERYWHERE = {
    "accelerations_by_rank", "check_closed", "closed_form", "coordinates_at", "doubt", "doubt_limits", "elimination_order",
    "entry_index", "has_inertia", "joint_letters", "loops",
}  # fmt: skip
"""The same, of classes of which others consist."""


class Internals(griffe.Extension):
    """Take members out of a package once all of it has been read."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called by Griffe when a package is complete."""
        doomed: list[tuple[griffe.Object, str]] = []
        waiting: list[griffe.Object] = [pkg]
        while waiting:
            thing = waiting.pop()
            doomed += [(thing, name) for name in thing.members if is_internal(thing, name)]
            waiting += [m for m in thing.members.values() if not m.is_alias and (m.is_class or m.is_module)]  # type: ignore[misc]
        for thing, name in doomed:
            thing.del_member(name)


def is_internal(thing: griffe.Object, name: str) -> bool:
    """Whether the reference does without a member of a class or a module."""
    member = thing.members[name]
    if name in EVERYWHERE and (member.is_alias or not member.is_module):  # the package kinetree.loops stays
        return True
    if name in OWN_STEPS.get(thing.name, "").split():
        return True
    if not member.is_alias and member.is_attribute and name.isupper() and len(name) > 1:
        return thing.is_class or name not in {str(public) for public in thing.exports or ()}
    return thing.is_class and any(base.name in ASKED and name in base.members for base in bases(thing))


def bases(thing: griffe.Object) -> list[griffe.Class]:
    """The classes of kinetree that a class is derived from."""
    try:
        return thing.mro()  # type: ignore[attr-defined, no-any-return]
    except ValueError:
        return []
