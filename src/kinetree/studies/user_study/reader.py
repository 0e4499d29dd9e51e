"""Users' studies: a YAML file defines a robot, its motion, and what is expected.

``kinetree new`` writes :func:`starter`, ``kinetree run`` runs it; every error is reported with its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ...contact.joint_stops import JointStops
from ...contact.surfaces import Spot, line, rectangle
from ...errors import FileFormatError, ModelWarning, UnknownNameError, warn
from ...forces.from_yaml import read_forces
from ...io.other_programs import of_program
from ...io.paths import as_path, whole_content
from ...io.units import ShownUnits, in_si
from ...model.formats import yaml, yaml_nodes
from ...model.formats.source import Source
from ...model.formats.yaml_nodes import Node, Scalar, Table
from ...motion import trajectories
from ...robot.load import load
from ...robot.robot import Robot
from ...simulation.options import OPTIONS, SimulationOption
from ...simulation.records.plot import PANELS
from ...spatial.arrays import Array
from .. import named_systems, simulation_setup
from ..fact_files import FactReader, StatedFact
from ..study import Study
from .design_section import DesignTask, read_design
from .forces_and_paths import MoreOutputs
from .motion import MotionReader
from .plan import StudyPlan
from .scene_section import read_scene

VERSION = 1

MARK = "kinetree-study"

TOP_KEYS = (
    MARK, "name", "title", "robot", "scene", "start", "motion", "controller", "ground", "stops", "forces", "simulation",
    "outputs", "expect", "facts", "sweep", "design", "redysim",
)  # fmt: skip

ROBOT_KEYS = ("name", "file", "floating_base", "mimic", "gravity", "loops", "parameters", "locked")

REDYSIM_KEYS = ("folder", "analysis", "trajectory")
BESIDE_REDYSIM = (MARK, "name", "title", "robot", "redysim")
"""Keys of a study that runs a ReDySim folder: everything else is in the folder."""

CONTROLLER_KEYS = ("kind", "kp", "kd", "ki", "limited", "limit", "sample_time", *simulation_setup.SAMPLING)

GROUND_KEYS = (
    "spots", "kind", "source", "isotropic", "stiffness", "dissipation", "exponent", "factor", "damping", "depth",
    "dust", "friction", "sliding_damping", "height", "slope",
)  # fmt: skip

SIMULATION_OPTIONS = {name: row for name, row in OPTIONS.items() if row.kind and name not in ("works", "threads")}
"""Options of :func:`kinetree.simulate` that a file can have."""

SIMULATION_KEYS = ("time", "samples", *SIMULATION_OPTIONS)

LISTED = 200
"""Characters of initial velocities that a warning writes out, at most."""

SPEEDS_ALIKE = 1e-5
"""Initial speeds are alike if they differ by this part of the largest, since files give a few digits of them."""

EVERY_STEP = "steps"
"""A word in place of a number of samples."""

OUTPUT_KEYS = ("samples", "plots", "forces", "paths", "units", "over")

EXPECT_KEYS = ("energy_error", "final_error", "largest_force", "within_limits", "forward", "tilt", "stands")

NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]*")


def starter(walker: bool = False) -> str:
    """Return a commented example file, of an arm or of a walking machine."""
    name = "walker.yaml" if walker else "starter.yaml"
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def read(path: str | os.PathLike[str]) -> UserStudy:
    """Read a study from a file.

    Parameters
    ----------
    path : path-like
        A YAML file in the format that :func:`starter` explains.

    Raises
    ------
    FileFormatError
        If the file is not valid; the error names file and line.
    """
    place = as_path(path, "a study file")
    data = whole_content(place, "study file", hint=lambda: "; 'kinetree new' writes one")
    return StudyReader(Source(place, data)).study()


def read_design_file(path: str | os.PathLike[str]) -> DesignTask:
    """Read the section ``design`` of a study file, with the robot of that file."""
    place = as_path(path, "a study file")
    reader = StudyReader(Source(place, whole_content(place, "study file", hint=lambda: "; 'kinetree new' writes one")))
    if "design" not in reader.top:
        raise reader.error("there is no section 'design' in this study, which says what may change", reader.root)
    return read_design(reader, reader.top["design"], reader.read_machine()[0])


@dataclass(frozen=True)
class UserStudy(Study):
    """A study that is not part of the gallery; its model is written from the robot."""

    robot: Robot | None = None

    def model_text(self) -> str | None:
        """Return the robot in kinetree's format, if that can express it."""
        return None if self.robot is None else yaml.write(self.robot.model)


class StudyReader(MotionReader):
    """Goes through the nodes of a file, in the order of their dependencies."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.file)
        self.path = source.path
        root = yaml_nodes.nodes(source)
        if not isinstance(root, Table) or MARK not in root.entries:
            hint = " (it is a robot file: see 'kinetree info')" if _is_robot(root) else ""
            raise self.error(f"this is not a study: the file must begin with '{MARK}: {VERSION}'{hint}", root)
        if self.number(root.entries[MARK], "the version of the format") != VERSION:
            raise self.error(f"only version {VERSION} of the format is understood", root.entries[MARK])
        self.root = root
        is_folder = "redysim" in root.entries  # the folder has its own robot
        self.top = self.fields(root, "the study", TOP_KEYS)
        if "robot" in self.top and "scene" in self.top:
            raise self.error("the study has both a robot and a scene: put the robot into the scene", root)
        if not is_folder and not ("robot" in self.top or "scene" in self.top):
            raise self.error("the study needs the key 'robot' (or 'scene')", root)

    def study(self) -> UserStudy:
        """Read the whole study."""
        name = self.word("name", self.path.stem)
        if not NAME.fullmatch(name):
            where = self.top.get("name", self.root)
            raise self.error(
                f"the name of a study is also that of a folder: letters, digits, '-', '_'; not {name!r}", where
            )
        if "redysim" in self.top:
            return self.folder_of_redysim(name)
        plan = self.plan()
        analyses: dict[str, Any] = {}
        if plan.states is not None:
            analyses["inverse"] = plan.inverse
        if plan.free_base:
            analyses["prescribed"] = plan.prescribed
        if plan.simulation:
            analyses["simulation"] = plan.simulated
        if "design" in self.top:
            analyses["design"] = read_design(self, self.top["design"], plan.robot)
        if not analyses:
            raise self.error("nothing to compute: give a motion, a simulation, or both", self.root)
        for section in plan.facts:
            if section not in analyses:
                why, at = UnknownNameError("analysis of this study", section, analyses), self.top["facts"]
                raise FileFormatError(str(why), self.file, at.lines[section] if isinstance(at, Table) else at.line)
        title = self.word("title", name)
        return UserStudy(name, title, f"your file {self.path.name}", analyses, robot=plan.robot)

    def folder_of_redysim(self, name: str) -> UserStudy:
        """Read a study that runs a folder of ReDySim."""
        for key in self.top:
            if key not in BESIDE_REDYSIM:
                at = self.root.lines[key]
                raise FileFormatError(f"{key!r} belongs to the ReDySim folder, not to a study of it", self.file, at)
        robot = self.read_robot(self.top["robot"])[0] if "robot" in self.top else None
        node = self.top["redysim"]
        fields = self.fields(node, "redysim", REDYSIM_KEYS, required=("folder",))
        given = {key: self.text(x, key) for key, x in fields.items()}
        trajectory = self.beside(given["trajectory"]) if "trajectory" in given else None
        program = of_program("redysim.study")
        with self.at(node):
            system = program.Redysim(
                self.beside(given["folder"]), robot=robot, analysis=given.get("analysis"), trajectory=trajectory
            )
        analyses = program.analyses_of(system)
        title = self.word("title", name)
        return UserStudy(name, title, f"ReDySim, {system.folder.path}", analyses, robot=system.robot)

    def word(self, key: str, default: str) -> str:
        """Read a text of the top level."""
        return self.text(self.top[key], key) if key in self.top else default

    # ---------------------------------------------------------------- the plan

    def plan(self) -> StudyPlan:
        """Read everything that the analyses need."""
        if "redysim" in self.top:
            raise self.error("a folder of ReDySim runs as it is: nothing in it can vary", self.top["redysim"])
        self.robot, self.system = self.read_machine()
        self.q, self.v = self.read_start()
        desired, states, span = self.read_motion(self.top.get("motion"))
        elements = self.read_elements()
        lands = any(not isinstance(element, JointStops) for element in elements)
        simulation = self.read_simulation(span, lands)
        samples, plots, more = self.read_outputs()
        exact = None if lands and not self.gives("outputs", "samples") else samples
        controller, expected = self.read_controller(desired, elements), self.read_expect(simulation, desired)
        forces = read_forces(self, self.top["forces"], self.robot.model, self.q) if "forces" in self.top else []
        if simulation and states is not None and desired is not None:
            self.compare_start(desired)
        return StudyPlan(
            self.robot, self.q, self.v, desired, states, span, samples, exact, controller, elements, simulation, plots,
            expected, self.free_base, forces, self.words_on_start(), self.read_facts(), more,
        )  # fmt: skip

    def gives(self, section: str, key: str) -> bool:
        """Return whether a section of the file has a key."""
        node = self.top.get(section)
        return isinstance(node, Table) and key in node.entries

    def read_machine(self) -> tuple[Robot, str | None]:
        """Load the robot, or make that of the scene."""
        if "scene" in self.top:
            return read_scene(self, self.top["scene"]), None
        return self.read_robot(self.top["robot"])

    def read_robot(self, node: Node) -> tuple[Robot, str | None]:
        """Load the robot: a name of the gallery, a file, or either with options."""
        if isinstance(node, Scalar):
            fields: dict[str, Node] = {"name" if node.text in named_systems.NAMES else "file": node}
        else:
            fields = self.fields(node, "robot", ROBOT_KEYS)
            if ("name" in fields) == ("file" in fields):
                raise self.error("robot needs either 'name' (in the gallery) or 'file'", node)
        options: dict[str, Any] = {}
        if "floating_base" in fields:
            options["floating_base"] = self.boolean(fields["floating_base"], "floating_base")
        if "mimic" in fields:
            options["mimic"] = self.text(fields["mimic"], "mimic")
        if "gravity" in fields:
            options["gravity"] = self.numbers(fields["gravity"], "gravity", 3)
        if "loops" in fields:
            options["loops"] = self.beside(self.text(fields["loops"], "loops"))
        name: str | None = None
        with self.at(fields.get("name", fields.get("file", node))):
            if "name" in fields:
                name = self.text(fields["name"], "name of the robot")
                robot: Robot = named_systems.load(name, **options)
            else:
                file = self.text(fields["file"], "robot")
                if not Path(file).suffix:
                    raise UnknownNameError(
                        "system in the gallery, and no robot file,", file, named_systems.NAMES, most=8
                    )
                robot = load(self.beside(file), **options)
        if "parameters" in fields:
            with self.at(fields["parameters"]):
                robot = robot.with_parameters(self.other_numbers(fields["parameters"]))
        if "locked" in fields:
            with self.at(fields["locked"]):
                return robot.reduced(self.locked(fields["locked"])), None
        return robot, name

    def locked(self, node: Node) -> dict[str, Any]:
        """Read joints that do not move: names in a list, or where each is held, ``{finger: 20 mm}``."""
        if isinstance(node, Table):
            return {name: self.angles(value, f"joint {name!r}") for name, value in node.entries.items()}
        return dict.fromkeys(self.text(item, "a joint to lock") for item in self.items(node, "locked"))

    def other_numbers(self, node: Node) -> dict[str, Any]:
        """Read numbers that replace the robot's: ``bodies: {palm: {mass: 0.8}}``, or ``bodies.palm.mass: 0.8``."""
        if not isinstance(node, Table):
            raise self.error("parameters are given by name, such as {bodies.palm.mass: 0.8}", node)
        found: dict[str, Any] = {}
        for key, value in node.entries.items():
            if isinstance(value, Table):
                found[key] = inner = {}
                for name, numbers in value.entries.items():
                    given = self.fields(numbers, name, tuple(getattr(numbers, "entries", ())))
                    inner[name] = {k: self.angles(x, f"{k} of {name}") for k, x in given.items()}
            else:
                found[key] = self.angles(value, key)
        return found

    def beside(self, file: str) -> Path:
        """Return a path relative to the study's file."""
        return self.path.parent / file

    def read_start(self) -> tuple[Array, Array]:
        """Read the initial state; a word is a start of the gallery, or a named configuration of the robot's file."""
        fields: dict[str, Node] = {}
        if "start" in self.top:
            given = self.top["start"]
            fields = {"q": given} if isinstance(given, Scalar) else self.fields(given, "start", ("q", "v"))
        where = self.top.get("start", self.top.get("robot", self.root))
        self.start_given = self.given(fields.get("q")), self.given(fields.get("v"))
        with self.at(fields.get("q", where)):
            q = simulation_setup.configuration(self.robot, self.start_given[0], self.system, "start.q")
        with self.at(fields.get("v", where)):
            return q, simulation_setup.velocity(self.robot, q, self.start_given[1], "start.v")

    def words_on_start(self) -> str:
        """Describe where a simulation begins."""
        if self.start_given != (None, None) or self.free_base or self.brought:
            return "It begins at the start of the file." if "start" in self.top else "It begins on the motion."
        known = self.system is not None and len(named_systems.start(self.system)) == self.robot.nq  # else another base
        where = "where the motion of the gallery begins" if known else "as the robot is drawn"
        return f"It begins {where}, at rest: the file has no start."

    def compare_start(self, desired: trajectories.Trajectory) -> None:
        """Warn if the desired motion and the simulation begin at different places or speeds."""
        wanted, rates = (np.asarray(x) for x in desired(0.0)[:2])
        if self.robot.loops is not None:
            places = [k for joint in self.moving for k in joint.freedoms]
            off = wanted - self.coordinates(self.q)
        else:
            places, off = list(range(self.robot.nv)), self.robot.difference(self.q, wanted)
        follows = "the controller has to catch up" if "controller" in self.top else "nothing follows the motion"
        slow = SPEEDS_ALIKE * max(1.0, float(np.abs(rates).max()))
        for how, apart, per, slack in (
            ("elsewhere", off, "", simulation_setup.CLOSED),
            ("at another speed", rates - self.v[places], "/s", slow),
        ):
            far = int(np.argmax(np.abs(apart)))
            if abs(apart[far]) > slack:
                name, unit = self.robot.v_names[places[far]], f"{self.robot.v_units[places[far]]}{per}"
                listed = ", ".join(f"{self.robot.v_names[places[k]]}: {rates[k]:.6g}" for k in np.flatnonzero(rates))
                begins = f"; start: {{v: {{{listed}}}}} begins with it" if per and len(listed) < LISTED else ""
                warn(
                    f"{self.path.name}: the motion begins {how} than the simulation, by {apart[far]:.3g} {unit} in "
                    f"{name}; {follows}{begins}",
                    ModelWarning,
                )

    # ---------------------------------------------------------------- what acts on it

    def read_controller(self, desired: trajectories.Trajectory | None, elements: Sequence[Any]) -> Any:
        """Make a controller that follows the motion, or that holds the start."""
        if "controller" not in self.top:
            return None
        node = self.top["controller"]
        if isinstance(node, Scalar):
            node = Table(node.line, {"kind": node}, {"kind": node.line})
        fields = self.fields(node, "controller", CONTROLLER_KEYS, required=("kind",))
        gains = {
            key: self.per_freedom(fields[key], key, infinite=False)
            for key in ("kp", "kd", "ki", "limit")
            if key in fields
        }
        limited = "limited" in fields and self.boolean(fields["limited"], "limited")
        kind = self.text(fields["kind"], "kind of controller")
        with self.at(fields["kind"]):
            followed = simulation_setup.stay(self.robot, self.q) if desired is None else desired
            made = simulation_setup.controller(
                kind, self.robot, followed, senses=elements, begin=(self.q, self.v), limited=limited, **gains
            )  # fmt: skip
        numbers: dict[str, Any] = {
            key: self.number(fields[key], key) for key in ("sample_time", *simulation_setup.SAMPLING) if key in fields
        }
        if "seed" in numbers and numbers["seed"] == int(numbers["seed"]):
            numbers["seed"] = int(numbers["seed"])
        with self.at(node):
            return simulation_setup.sampled(made, numbers.pop("sample_time", None), **numbers)

    def read_elements(self) -> list[Any]:
        """Make ground and stops."""
        found: list[Any] = [] if "ground" in self.top else list(self.brought)
        if "ground" in self.top:
            node = self.top["ground"]
            fields = self.fields(node, "ground", GROUND_KEYS, required=("spots",))
            numbers: dict[str, Any] = {key: self.number(fields[key], key) for key in GROUND_KEYS[4:] if key in fields}
            for key, what in (("kind", "kind of ground"), ("source", "source of the ground")):
                if key in fields:
                    numbers[key] = self.text(fields[key], what)
            if "isotropic" in fields:
                numbers["isotropic"] = self.boolean(fields["isotropic"], "isotropic")
            with self.at(fields.get("kind", fields.get("source", node))):
                found.append(simulation_setup.compliant_ground(self.robot, self.spots(fields["spots"]), **numbers))
        if "stops" in self.top and self.boolean(self.top["stops"], "stops"):
            found.append(JointStops())
        return found

    def spots(self, node: Node) -> list[Any]:
        """Read names of frames, or points on them; or 'all'."""
        if isinstance(node, Scalar):
            return [self.text(node, "spots")]
        return [spot for item in self.items(node, "spots") for spot in self.spot(item)]

    def spot(self, node: Node) -> list[Any]:
        """Read one spot, or those at the ends of an edge or the corners of a sole."""
        if isinstance(node, Scalar):
            return [self.text(node, "a spot")]
        keys = ("frame", "point", "radius", "length", "width")
        fields = self.fields(node, "a spot", keys, required=("frame",))
        point = self.numbers(fields["point"], "point", 3) if "point" in fields else (0.0, 0.0, 0.0)
        radius = self.measured(fields["radius"], "radius", "m") if "radius" in fields else 0.0
        frame = self.text(fields["frame"], "frame")
        size = {key: self.measured(fields[key], key, "m") for key in ("length", "width") if key in fields}
        with self.at(node):
            if not size:
                return [Spot(frame, tuple(point), radius)]  # type: ignore[arg-type]
            if "length" not in size or radius:
                raise self.error("a foot has a length, perhaps a width, and no radius", node)
            if not all(number > 0.0 for number in size.values()):
                raise self.error("length and width of a foot must be positive", node)
            made = line(frame, size["length"], center=point) if "width" not in size else None
            return made or rectangle(frame, size["length"], size["width"], center=point)

    # ---------------------------------------------------------------- simulation, outputs, expectations

    def read_simulation(self, span: float, lands: bool) -> dict[str, Any]:
        """Read options of :func:`kinetree.simulate`.

        lands: Whether there is ground: then every step is a sample, unless the file gives a number.
        """
        if "simulation" not in self.top:
            idle = ["controller"] if self.free_base else ["controller", "ground", "stops"]
            if "motion" not in self.top:
                idle.append("forces")
            for key in idle:
                if key in self.top:
                    raise FileFormatError(f"{key!r} needs a simulation", self.file, self.root.lines[key])
            return {}
        node = self.top["simulation"]
        fields = self.fields(node, "simulation", SIMULATION_KEYS)
        options = {key: self._option(fields[key], row) for key, row in SIMULATION_OPTIONS.items() if key in fields}
        if "time" not in fields and not span:
            raise self.error("simulation needs 'time', in seconds, since there is no motion to take it from", node)
        options["time"] = self.measured(fields["time"], "time") if "time" in fields else span
        if not options["time"] > 0.0:
            raise self.error("the time of a simulation must be positive", fields["time"])
        given = fields.get("samples")
        every = isinstance(given, Scalar) and given.text == EVERY_STEP
        if given is None:  # feet that land push hardest between samples
            options["samples"] = None if lands else 201
        else:
            options["samples"] = None if every else self.whole(given, "samples")
        return options

    def _option(self, node: Node, row: SimulationOption) -> Any:
        """Read an option of the simulation."""
        if row.kind is bool:
            return self.boolean(node, row.name)
        if row.kind is not str:
            numbers = self.measured if row.unit == "seconds" else self.number
            return self.whole(node, row.name) if row.kind is int else numbers(node, row.name)
        word = self.text(node, row.name)
        if word not in row.words:
            raise self.error(str(UnknownNameError(row.name, word, row.words)), node)
        return word

    def whole(self, node: Node, what: str) -> int:
        """Read a whole number, at least 2."""
        value = self.number(node, what)
        if value != int(value) or value < 2:
            raise self.error(f"{what} must be a whole number, at least 2, not {value:g}", node)
        return int(value)

    def read_outputs(self) -> tuple[int, tuple[str, ...], MoreOutputs]:
        """Read the number of samples of the motion, and what to draw of the simulation."""
        if "outputs" not in self.top:
            return StudyPlan.samples, tuple(StudyPlan.plots), MoreOutputs()
        fields = self.fields(self.top["outputs"], "outputs", OUTPUT_KEYS)
        samples = self.whole(fields["samples"], "samples") if "samples" in fields else StudyPlan.samples
        forces = "forces" in fields and self.boolean(fields["forces"], "forces")
        paths = self.read_paths(fields["paths"]) if "paths" in fields else {}
        with self.at(fields.get("units", self.top["outputs"])):
            listed = [self.text(x, "unit") for x in self.items(fields["units"], "units")] if "units" in fields else []
            more = MoreOutputs(forces, paths, ShownUnits.read(listed))
        if "over" in fields:
            with self.at(fields["over"]):
                place = self.robot.entry_index(self.text(fields["over"], "over"), "q")
            more = replace(more, over=self.robot.q_names[place])
        if "plots" not in fields:
            return samples, tuple(StudyPlan.plots), more
        plots = []
        for item in self.items(fields["plots"], "plots"):
            plots.append(self.text(item, "part of a plot"))
            if plots[-1] not in PANELS:
                raise self.error(str(UnknownNameError("part of a plot", plots[-1], PANELS)), item)
        return samples, tuple(plots), more

    def read_paths(self, node: Node) -> dict[str, tuple[str, Sequence[float]]]:
        """Read points whose paths are written: frames, ``[toe]``, or points, ``{pen: {frame: rod, point: [...]}}``."""
        found: dict[str, tuple[str, Sequence[float]]] = {}
        if not isinstance(node, Table):
            names = {self.text(item, "path"): item for item in self.items(node, "paths")}
            found = {name: (name, (0.0, 0.0, 0.0)) for name in names}
        else:
            names = dict(node.entries)
            for name, entry in node.entries.items():
                own = self.fields(entry, f"path {name!r}", ("frame", "point"), required=("frame",))
                point = self.numbers(own["point"], "point", 3, measured=True) if "point" in own else [0.0, 0.0, 0.0]
                with self.at(own.get("point", entry)):
                    found[name] = self.text(own["frame"], "frame"), in_si(point, "m", "point")
        for name, (frame, _) in found.items():
            with self.at(names[name]):
                self.robot.frame(frame)
        return found

    def read_facts(self) -> dict[str, list[StatedFact]]:
        """Read facts by analysis, as in files of facts; by default their source is this file."""
        if "facts" not in self.top:
            return {}
        rows = FactReader(self.file).sections(self.top["facts"], "facts")
        return {
            analysis: [replace(row, given={"source": "this file", **row.given}) for row in own]
            for analysis, own in rows.items()
        }

    def read_expect(self, simulation: dict[str, Any], desired: Any) -> dict[str, float | bool]:
        """Read the user's expectations."""
        if "expect" not in self.top:
            return {}
        fields = self.fields(self.top["expect"], "expect", EXPECT_KEYS)
        runs = bool(simulation) or self.free_base
        needs = {
            **dict.fromkeys(("energy_error", "forward", "tilt", "stands"), runs),
            "final_error": bool(simulation) and desired is not None,
        }
        for key, node in fields.items():
            if not needs.get(key, True):
                more = " and a motion" if key == "final_error" else ""
                raise self.error(f"expecting {key!r} needs a simulation{more}", node)
        truths = ("within_limits", "stands")
        return {
            key: self.boolean(node, key) if key in truths else float(self.angles(node, key))
            for key, node in fields.items()
        }


def _is_robot(root: Node) -> bool:
    return isinstance(root, Table) and "kinetree" in root.entries
