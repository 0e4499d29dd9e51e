"""Former names of modules and arguments: older programs keep working for one release, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

NOW_AT = {
    "kinetree.algorithms.clearance.bricks": "kinetree.algorithms.clearance.balls_capsules_boxes",
    "kinetree.algorithms.clearance.separation": "kinetree.algorithms.clearance.placed_solids",
    "kinetree.algorithms.conditioning": "kinetree.algorithms.rounding_of_dynamics",
    "kinetree.algorithms.denoc": "kinetree_books.denoc",
    "kinetree.algorithms.denoc_blocks": "kinetree_books.denoc_blocks",
    "kinetree.algorithms.module_steps": "kinetree_books.module_steps",
    "kinetree.catalogue": "kinetree.algorithms.table",
    "kinetree.codegen": "kinetree.export.c_code",
    "kinetree.contact.collision_shapes": "kinetree.contact.ground_from_shapes",
    "kinetree.contact.redysim_ground": "kinetree_programs.redysim.ground",
    "kinetree.control.redysim_torque": "kinetree_programs.redysim.torque",
    "kinetree.control.with_model": "kinetree.control.inexact_model",
    "kinetree.cost": "kinetree_books.cost_formulas",
    "kinetree.engine.entry": "kinetree.engine.kernels.direct_call",
    "kinetree.engine.kernel": "kinetree.engine.kernels",
    "kinetree.engine.machine": "kinetree.engine.llvm.host",
    "kinetree.evaluation.complete_options": "kinetree.evaluation.algorithm_options",
    "kinetree.evaluation.direct": "kinetree.evaluation.direct_methods",
    "kinetree.evaluation.failure": "kinetree.evaluation.law_failures",
    "kinetree.evaluation.functions": "kinetree.evaluation.user_functions",
    "kinetree.export.published_counts": "kinetree_books.published_counts",
    "kinetree.export.symbolic.tidy": "kinetree.export.symbolic.simplify",
    "kinetree.gallery.analyses": "kinetree_gallery.analyses",
    "kinetree.gallery.catalog": "kinetree_gallery.catalog",
    "kinetree.gallery.comparisons": "kinetree_gallery.comparisons",
    "kinetree.gallery.drawings": "kinetree.studies.drawings",
    "kinetree.gallery.plots": "kinetree.studies.plots",
    "kinetree.gallery.redysim": "kinetree_programs.redysim.study",
    "kinetree.gallery.report": "kinetree.studies.report",
    "kinetree.gallery.simulation_setup": "kinetree.studies.simulation_setup",
    "kinetree.gallery.sources": "kinetree.studies.sources",
    "kinetree.gallery.system": "kinetree.studies.system",
    "kinetree.gallery.systems": "kinetree_gallery.systems",
    "kinetree.gallery.user_study": "kinetree.studies.user_study",
    "kinetree.gym.environment": "kinetree_learning.environments.environment",
    "kinetree.gym.making": "kinetree_learning.environments.making",
    "kinetree.gym.registration": "kinetree_learning.environments.registration",
    "kinetree.gym.rendering": "kinetree_learning.environments.rendering",
    "kinetree.gym.tasks": "kinetree_learning.tasks",
    "kinetree.gym.vector_environment": "kinetree_learning.environments.vector_environment",
    "kinetree.loops.all_assemblies": "kinetree.loops.assemblies",
    "kinetree.loops.all_assemblies.most_there_can_be": "kinetree.loops.assemblies.upper_bounds",
    "kinetree.loops.all_assemblies.planar": "kinetree.loops.assemblies.planar_eigenvalues",
    "kinetree.loops.all_assemblies.search": "kinetree.loops.assemblies.search_all",
    "kinetree.loops.all_assemblies.search_from_starts": "kinetree.loops.assemblies.search_one",
    "kinetree.loops.parts": "kinetree.loops.loops_class",
    "kinetree.loops.parts.choice": "kinetree.loops.loops_class.independent_choice",
    "kinetree.loops.parts.forward": "kinetree.loops.loops_class.forward_dynamics",
    "kinetree.loops.parts.inverse": "kinetree.loops.loops_class.inverse_dynamics",
    "kinetree.loops.parts.prepared": "kinetree.loops.loops_class.prepared_dynamics",
    "kinetree.loops.platform": "kinetree.robot.platform.platform",
    "kinetree.mechanism": "kinetree.robot.mechanism",
    "kinetree.model.changes.stand_ins": "kinetree.model.changes.over_any_scalar",
    "kinetree.model.formats.matlab": "kinetree_programs.matlab",
    "kinetree.model.formats.redysim": "kinetree_programs.redysim",
    "kinetree.model.formats.spatial_v2": "kinetree_programs.spatial_v2",
    "kinetree.model.formats.symoro": "kinetree_programs.symoro",
    "kinetree.model.formats.symoro.expressions": "kinetree.model.formats.formulas",
    "kinetree.model.formats.symoro.values_file": "kinetree.model.formats.values_file",
    "kinetree.model.units": "kinetree.model.force_units",
    "kinetree.motion.redysim_motion": "kinetree_programs.redysim.motion",
    "kinetree.parameters.considered": "kinetree.parameters.parameters_to_group",
    "kinetree.published": "kinetree_books.published_counts",
    "kinetree.robot.cost_formulas": "kinetree_books.cost_formulas",
    "kinetree.robot.dh": "kinetree.robot.from_dh",
    "kinetree.robot.platform.factor_rates": "kinetree_books.factor_rates",
    "kinetree.robot.platform.parallel_denoc": "kinetree_books.parallel_denoc",
    "kinetree.robot.platform.parallel_dynamics": "kinetree_books.parallel_dynamics",
    "kinetree.run": "kinetree.evaluation",
    "kinetree.simulation.complementarity": "kinetree.contact.complementarity",
    "kinetree.simulation.constrained.choice": "kinetree.simulation.constrained.constraint_setup",
    "kinetree.simulation.constrained.drift": "kinetree.simulation.constrained.drift_correction",
    "kinetree.simulation.contact": "kinetree.contact",
    "kinetree.simulation.control": "kinetree.control",
    "kinetree.simulation.controller": "kinetree.control.base",
    "kinetree.simulation.ground": "kinetree.contact.ground",
    "kinetree.simulation.impact": "kinetree.contact.impact",
    "kinetree.simulation.legs": "kinetree.motion.walking.legs",
    "kinetree.simulation.loop_choice": "kinetree.simulation.elimination_order",
    "kinetree.simulation.record": "kinetree.simulation.records.record",
    "kinetree.simulation.stops": "kinetree.contact.joint_stops",
    "kinetree.simulation.surfaces": "kinetree.contact.surfaces",
    "kinetree.simulation.trajectories": "kinetree.motion.trajectories",
    "kinetree.simulation.walking": "kinetree.motion.walking.gaits",
    "kinetree.simulation.worlds.live_view": "kinetree.simulation.worlds.shared_arrays",
    "kinetree.simulation.worlds.moment": "kinetree.simulation.worlds.instant",
    "kinetree.simulation.worlds.stepped": "kinetree.simulation.worlds.step_result",
    "kinetree.simulation.zero_moment_point": "kinetree.motion.walking.zero_moment_point",
    "kinetree.spatial.dense": "kinetree.spatial.linear_systems",
    "kinetree.studies.redysim": "kinetree_programs.redysim.study",
    "kinetree.symbolic": "kinetree.export.symbolic",
    "kinetree.view.at_rest": "kinetree_studio.view.at_rest",
    "kinetree.view.browser": "kinetree_studio.view.browser",
    "kinetree.view.capture": "kinetree_studio.view.capture",
    "kinetree.view.figures": "kinetree_studio.view.displayed_robot",
    "kinetree.view.geometry": "kinetree_studio.view.geometry",
    "kinetree.view.given_wrenches": "kinetree_studio.view.given_wrenches",
    "kinetree.view.mjcf_geometry": "kinetree_studio.view.mjcf_geometry",
    "kinetree.view.motion": "kinetree_studio.view.motion",
    "kinetree.view.page": "kinetree_studio.view.page",
    "kinetree.view.page_data": "kinetree_studio.view.page_data",
    "kinetree.view.playable": "kinetree_studio.view.playable",
    "kinetree.view.player": "kinetree_studio.view.player",
    "kinetree.view.scene": "kinetree_studio.view.scene",
    "kinetree.view.server": "kinetree_studio.view.server",
    "kinetree.view.skeleton": "kinetree_studio.view.skeleton",
    "kinetree.view.sliders": "kinetree_studio.view.sliders",
    "kinetree.view.triangles": "kinetree_studio.view.triangles",
    "kinetree.view.viewer": "kinetree_studio.view.viewer",
    "kinetree.wrenches": "kinetree.evaluation.wrenches",
}
"""Where each module is now; removed in release 0.3. Names that are functions of a package today are not listed."""


def _today(name: str) -> str | None:
    """Return the current name of a module that is in the table, or inside a package that is."""
    former, inside = name, ""
    while former not in NOW_AT:
        former, dot, last = former.rpartition(".")
        if not dot:
            return None
        inside = f".{last}{inside}"
    return NOW_AT[former] + inside


class _Alias(Loader):
    """Loads a module under its former name."""

    def __init__(self, today: str) -> None:
        self.today = today

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module under its current name, which is imported here if it has not been yet."""
        module = import_module(self.today)
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own specification, which Python has replaced by that of the former name."""
        module.__spec__ = self.own_spec


class FormerNames(MetaPathFinder):
    """Finds modules by their former names, and warns."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find only the names in the table, since Python asks every finder for every module."""
        today = _today(fullname) if fullname.startswith("kinetree.") else None
        if today is None:
            return None
        warnings.warn(f"{fullname} is now {today}; the former name will be removed in 0.3", DeprecationWarning, 2)
        return ModuleSpec(fullname, _Alias(today))


def install() -> None:
    """Make Python ask for former names first: it would otherwise load modules inside a renamed package twice."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, FormerNames())


# ------------------------------------------------------------------ arguments

Callee = TypeVar("Callee", bound=Callable[..., Any])

FORMER_ARGUMENTS = "former_arguments"
"""The attribute of a function that maps its former argument names to the current ones."""


def former_arguments(**today: str | tuple[str, ...]) -> Callable[[Callee], Callee]:
    """Make a function, or the construction of a class, accept arguments by their former names, with a warning.

    A call costs only a look at the given names.  :func:`kinetree.errors.explains_arguments` does that, so such a
    function must be decorated with it as well.

    **today: The current name; several names where a former tuple is now several arguments.

    Examples
    --------
    ``@former_arguments(near="q_guess", start=("q0", "v0"))``
    """

    def mark(target: Callee) -> Callee:
        setattr(vars(target)["__init__"] if isinstance(target, type) else target, FORMER_ARGUMENTS, today)
        return target

    return mark


def with_names_of_today(
    function: str, former: Mapping[str, str | tuple[str, ...]], given: Mapping[str, Any], level: int
) -> dict[str, Any]:
    """Return arguments under their current names; a former name given beside its new one stays, to be refused."""
    found = dict(given)
    for name in former.keys() & given.keys():
        today = former[name]
        names = (today,) if isinstance(today, str) else today
        values = (found[name],) if isinstance(today, str) else found[name]
        if found.keys().isdisjoint(names) and isinstance(values, (tuple, list)) and len(values) == len(names):
            del found[name]
            found |= zip(names, values, strict=True)
            now = " and ".join(f"{x}=" for x in names)
            said = f"{name}= of {function} is now {now}; the former name will be removed in 0.3"
            warnings.warn(said, DeprecationWarning, stacklevel=level + 1)
    return found
