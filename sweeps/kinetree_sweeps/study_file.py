"""Studies by name: from the gallery, or from a file whose section ``sweep`` defines what varies and what is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import OptionError, warn
from kinetree.io.paths import as_path, whole_content
from kinetree.model.formats.source import Source
from kinetree.model.formats.yaml_nodes import Node, Scalar, Table
from kinetree.robot.load import load
from kinetree.simulation.prescribed import BoundMotion, Prescribed
from kinetree.simulation.worlds.draws import LogUniform, Normal, Uniform
from kinetree.studies.named_systems import NAMES, motion, start
from kinetree.studies.user_study import MARK, StudyPlan, StudyReader

from .designs import DESIGNS, Design, TableDesign, as_design
from .function_study import SweepStudy
from .studies import Forces, Simulations

SWEEP_KEYS = ("of", "design", "draws", "seed", "parameters", "table", "outputs", "rows_per_part")
VALUE_KEYS = ("values", "linspace", "logspace", "uniform", "log-uniform", "normal", "relative")


@dataclass(frozen=True)
class SweepFile:
    """The section ``sweep`` of a file."""

    study: SweepStudy
    design: Design
    rows_per_part: int | None = None


def study_of_name(given: str | os.PathLike[str], options: dict[str, Any]) -> SweepStudy:
    """Make a study from a name in the gallery, a study's file, or a robot's file with options of a simulation."""
    name = str(given)
    if name in NAMES and not Path(name).exists():
        if "time" in options:
            return Simulations(load(name), **options)
        return gallery_forces(name, **options)
    path = as_path(given, "the study of a sweep")
    if path.suffix.lower() in (".yaml", ".yml") and path.is_file() and MARK in path.read_text(encoding="utf-8")[:5000]:
        outputs = options.pop("outputs", None)
        which = options.pop("of", None)
        if options:
            raise OptionError(f"{path} says what is simulated: leave out {', '.join(options)}")
        return planned(_reader(path).plan(), which, outputs or "peak_force")
    return Simulations(load(path), **options)


def gallery_forces(name: str, **options: Any) -> Forces:
    """Return the study of the forces that the motion of a gallery system requires."""
    robot, moves = load(name), motion(name)
    if robot.loops is not None:
        robot = robot.with_independent([robot.v_names[k] for j in moves.joints for k in _entries(robot, j)])
        options.setdefault("q_guess", start(name))
    return Forces(robot, moves, **options)


def _entries(robot: Any, joint: str) -> range:
    where = robot.model.joint(joint).v_slice
    return range(where.start, where.stop)


def planned(plan: StudyPlan, which: str | None, outputs: Any) -> SweepStudy:
    """Return one of the analyses of a study's file, for every row."""
    there = [
        *(["inverse"] if plan.states is not None else []),
        *(["prescribed"] if plan.free_base else []),
        *(["simulation"] if plan.simulation else []),
    ]
    chosen = which or (there[-1] if there else "simulation")
    if chosen not in there:
        raise OptionError(f"this study has no {chosen!r} to sweep: it has {', '.join(there) or 'nothing to compute'}")
    if chosen == "inverse":
        assert plan.states is not None
        moves: Any = plan.states if plan.robot.loops is None else plan.desired
        return Forces(plan.robot, moves, span=(0.0, plan.span), samples=plan.samples, q_guess=plan.q, outputs=outputs)
    around = {"ground": list(plan.elements), "forces": list(plan.forces), "outputs": outputs}
    simulation = dict(plan.simulation)
    if simulation.get("samples", 0) is None:  # a batch, which cannot have every step, then says so
        del simulation["samples"]
    if chosen == "simulation":
        return Simulations(plan.robot, plan.q, plan.v, controller=plan.controller, **around, **simulation)
    assert plan.desired is not None
    defaults = {"integrator": "bdf", "rtol": 1e-6, "atol": 1e-8}
    if plan.prescribed_samples is not None:
        defaults["samples"] = plan.prescribed_samples
    options = defaults | simulation | {"time": plan.span}
    if "step" in options:
        options = {key: value for key, value in options.items() if key not in ("rtol", "atol")}
    q0, v0 = BoundMotion(plan.robot, plan.desired).on_motion(np.zeros(()), plan.robot.normalize(plan.q), plan.v)
    return Simulations(plan.robot, q0, v0, prescribed=Prescribed(plan.desired), **around, **options)


def read_sweep(path: str | os.PathLike[str]) -> SweepFile:
    """Read the sweep of a study's file."""
    return _reader(as_path(path, "a study file")).sweep()


def _reader(path: Path) -> _SweepReader:
    data = whole_content(path, "study file", hint=lambda: "; 'kinetree new' writes one")
    return _SweepReader(Source(path, data))


class _SweepReader(StudyReader):
    """Reads a study's file with its section ``sweep``."""

    def sweep(self) -> SweepFile:
        """Read all of it."""
        if "sweep" not in self.top:
            raise self.error(
                "there is no section 'sweep' in this study, which says what varies; 'kinetree new' shows one", self.root
            )
        node = self.top["sweep"]
        fields = self.fields(node, "sweep", (*SWEEP_KEYS, "samples"), required=("outputs",))
        if "samples" in fields and "draws" not in fields:
            said = "'samples' of a sweep is now 'draws' in study files; the former name will be removed in 0.3"
            warn(said, DeprecationWarning)
            fields["draws"] = fields.pop("samples")
        outputs = [self.text(x, "an output") for x in self.items(fields["outputs"], "outputs")]
        which = self.text(fields["of"], "of") if "of" in fields else None
        with self.at(fields["outputs"] if "of" not in fields else fields["of"]):
            study = planned(self.plan(), which, outputs)
        design = self.design(node, fields)
        with self.at(fields.get("parameters", fields.get("table", node))):
            study.check(design.names)
        size = self._count(fields["rows_per_part"], "rows_per_part") if "rows_per_part" in fields else None
        return SweepFile(study, design, size)

    def design(self, node: Node, fields: dict[str, Node]) -> Design:
        """Read the design: which rows there are."""
        if ("parameters" in fields) == ("table" in fields):
            raise self.error("sweep needs either 'parameters' or 'table', a file with a row for each", node)
        if "table" in fields:
            with self.at(fields["table"]):
                return TableDesign(self.beside(self.text(fields["table"], "table")))
        kind = self.text(fields["design"], "design") if "design" in fields else None
        if kind is not None and kind not in DESIGNS:
            raise self.error(f"designs are {', '.join(DESIGNS)}, not {kind!r}", fields["design"])
        numbers = {key: self._count(fields[key], key, 0) for key in ("draws", "seed") if key in fields}
        table = fields["parameters"]
        if not isinstance(table, Table):
            raise self.error("parameters map names to values, such as 'ground.friction: [0.4, 0.8]'", table)
        given = {name: self.values(name, content) for name, content in table.entries.items()}
        with self.at(table):
            return as_design(given, kind, **numbers)

    def values(self, name: str, node: Node) -> Any:
        """Read the values of a parameter, or how they are drawn."""
        if not isinstance(node, Table):
            listed = [node] if isinstance(node, Scalar) else self.items(node, name)
            return [self.number(x, name) for x in listed]
        fields = self.fields(node, name, VALUE_KEYS)
        relative = "relative" in fields and self.boolean(fields.pop("relative"), "relative")
        if len(fields) != 1:
            raise self.error(f"{name} has one of {', '.join(VALUE_KEYS[:-1])}", node)
        ((kind, content),) = fields.items()
        with self.at(node):
            if kind == "values":
                return [self.number(x, name) for x in self.items(content, name)]
            if kind in ("linspace", "logspace"):
                low, high, count = self.numbers(content, kind, 3)
                if count != int(count) or count < 1:
                    raise self.error(f"{kind} is [first, last, how many], and {count:g} is not a whole number", content)
                space = np.linspace if kind == "linspace" else np.geomspace
                return space(low, high, int(count))
            law = {"uniform": Uniform, "log-uniform": LogUniform, "normal": Normal}[kind]
            return law(*self.numbers(content, kind, 2), relative=relative)

    def _count(self, node: Node, what: str, least: int = 1) -> int:
        value = self.number(node, what)
        if value != int(value) or value < least:
            raise self.error(f"{what} must be a whole number from {least}, not {value:g}", node)
        return int(value)
