"""Make a page that computes: what ``kt.page`` and ``kinetree page`` call."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algorithms import loop_constraints
from kinetree.errors import Message, NoValueError, OptionError, Setting, UnsupportedError
from kinetree.evaluation.law_kernels import unrolls
from kinetree.export.webassembly import WebAssembly
from kinetree.io.atomic_files import beside
from kinetree.io.units import Quantity, ShownUnits, quantity
from kinetree.model.describe import counted
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import real_number

from ..view import capture
from ..view.displayed_robot import make_figure
from ..view.framing import framing
from ..view.page import packed, with_head
from ..view.page_data import show_data
from ..view.show import gallery_motion, robot_of
from .chosen_numbers import GROUPS, ChosenNumbers
from .drives import simple_motors
from .kept_kernels import KeptKernels
from .kernels import Kernels

SHARED_SCRIPTS = (
    "linear.js", "data.js", "renderer.js", "orbit.js", "scene.js", "units.js", "panel.js", "curves.js"
)  # fmt: skip
"""Scripts of the viewer that these pages use, too."""

SCRIPTS = (
    "engine.js", "mechanism.js", "grip.js", "controls.js", "live_scene.js", "live_curves.js", "live_panels.js",
    "let_go.js", "live.js",
)  # fmt: skip
"""Scripts of these pages, which the studio uses, too."""

FULL_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class ComputingPage:
    """A page that computes, in one file.

    Attributes
    ----------
    html : str
        The page. It needs neither Python nor a network.
    sizes : dict from str to int
        Bytes of its parts: ``"code"`` (WebAssembly), ``"packed"`` (code and shapes, compressed), ``"page"``.
    """

    robot: Robot
    html: str
    sizes: dict[str, int]
    facts: dict[str, Any] = field(repr=False)
    """What the scripts know of the mechanism, with the code."""
    kernels: Kernels
    numbers: ChosenNumbers

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, completely or not at all."""
        target = capture.check_path(path, capture.PAGES, "pages")
        with beside(target) as written:
            written.write_text(self.html, encoding="utf-8", newline="\n")
        return target

    def _repr_html_(self) -> str:
        inside = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{inside}" style="width:100%;height:640px;border:1px solid #ccc"></iframe>'

    def __repr__(self) -> str:
        return f"<page of {self.robot.name!r} that computes: {self.sizes['page'] / 1000:.0f} kB>"


def page(
    robot: Robot | str | os.PathLike[str], path: str | os.PathLike[str] | None = None, *, q: ArrayLike | None = None,
    sliders: Sequence[str] = GROUPS, step: float | None = None, turn: str | None = None, speed: float | str = FULL_TURN,
    units: str | Sequence[str] | None = None, view: Sequence[float] | None = None, title: str | None = None,
    geometry: str | os.PathLike[str] | None = None, meshes: bool = True, load_options: dict[str, Any] | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
) -> ComputingPage:  # fmt: skip
    """Make a page in which a robot can be changed, moved and simulated, without Python.

    The page is one file with the robot and its dynamics as WebAssembly, made by the same engine from the same texts as
    the robot's own methods: it opens from a disk or a course page, and needs no network.

    Parameters
    ----------
    robot : Robot, str or path
        A robot, the name of a system in the gallery, or a robot file.
    path : path, optional
        ``.html`` file, which is written completely or not at all.
    q : array_like, optional
        Configuration to begin with; by default where the gallery's motion begins, or an assembled one.
    sliders : sequence of str
        Numbers that can be changed: ``"gravity"``, ``"masses"``, ``"lengths"``, ``"damping"``, or the names of bodies,
        for their mass and length.  A length stretches the whole body; that of a body which carries no other is the
        distance of its farthest frame, or of its center of mass without frames.
    step : float, optional
        Seconds of a step of the simulation (fourth-order Runge-Kutta).  By default the page takes the longest one from
        0.1 to 5 ms with which energy is balanced to a millionth.
    turn : str, optional
        Joint that turns at first, with curves of one turn; by default the only motor of a mechanism. ``""`` for none.
    speed : float or str
        Its speed in rad/s or m/s, or with a unit, ``"60 rpm"``: a turn per second by default.
    units : str or sequence of str, optional
        Units other than ``"deg mm rpm"``; the page has a switch for them.
    view : three floats, optional
        Direction from the robot to the camera.
    title : str, optional
        Heading; by default the robot's name.
    geometry, meshes, load_options, package_dirs
        As for :func:`kinetree.view`.

    Returns
    -------
    ComputingPage
        With ``html``, ``sizes`` and ``save(path)``; notebooks show it.

    Examples
    --------
    >>> import kinetree as kt
    >>> made = kt.page("four-bar")
    >>> made.sizes["page"] < 900_000
    True
    """
    shown, file, name = robot_of(robot, load_options or {})
    data, kernels, numbers = content(
        shown, name or shown.model.motion_of, q=q, sliders=sliders, step=step, turn=turn, speed=speed, units=units,
        view=view, title=title, file=(geometry or file) if meshes else None, package_dirs=package_dirs,
    )  # fmt: skip
    inside = packed(data)
    text = _page(data["title"], inside)
    facts = data["compute"]
    sizes = {"code": len(facts["code"]), "packed": len(inside), "page": len(text.encode())}
    done = ComputingPage(shown, text, sizes, facts, kernels, numbers)
    if path is not None:
        done.save(path)
    return done


def content(
    shown: Robot, motion_of: str = "", *, q: ArrayLike | None = None, sliders: Sequence[str] = GROUPS,
    step: float | None = None, turn: str | None = None, speed: float | str = FULL_TURN,
    units: str | Sequence[str] | None = None, view: Sequence[float] | None = None, title: str | None = None,
    file: str | os.PathLike[str] | None = None, package_dirs: Sequence[str | os.PathLike[str]] = (),
    kept: KeptKernels | None = None,
) -> tuple[dict[str, Any], Kernels, ChosenNumbers]:  # fmt: skip
    """Return what a page holds: everything that its scripts show and compute with, as plain values and arrays.

    motion_of: The system of the gallery whose motion it begins with, if any.
    file: Where shapes are read from.
    kept: Laws made before; with these, the name of the code is part of it instead of the code.
    """
    _refuse(shown)
    track = gallery_motion(motion_of, shown) if motion_of else None
    first = track.q[0] if q is None and track is not None else q
    main = make_figure(shown, None, q=first, file=file, package_dirs=package_dirs)
    start = np.array(main.track.q[0])
    if shown.loops is not None:
        start = shown.close(start, limits=False)
    frame = framing([main if track is None or shown.is_floating else replace(main, track=track)], view)
    numbers = ChosenNumbers(shown.model, sliders, every=kept is not None)
    kernels, laws = Kernels(shown, numbers.read(), start), dict[str, Any]()
    if kept is None:
        laws = code_data(kernels.module)
    else:
        laws["laws"], kernels = kept.like(kernels)
    turning = _turning(kernels, turn)
    facts = (
        _facts(kernels, numbers, start)
        | laws
        | {
            "size": main.scene.size,
            "step": None if step is None else real_number(step, "step", positive=True, unit="seconds"),
            "turn": turning,
            "speed": _speed(kernels, speed, turning),
            "everyday": units is None,
        }
    )
    data = show_data(
        [main], frame.sight, frame.ground, None, {n: on for n, on in frame.shown.items() if n not in NOT_SHOWN}, [],
        live=False, playing=False, units=ShownUnits.read(units),
    )  # fmt: skip
    return data | {"title": title or shown.name, "compute": facts}, kernels, numbers


NOT_SHOWN = ("follow", "ghost")


def _refuse(robot: Robot) -> None:
    """Refuse robots that no page can compute."""
    if robot.model.symbols:
        raise NoValueError(robot.model.symbols)
    if not unrolls(robot):
        raise UnsupportedError(
            f"{robot.name!r} has {counted(len(robot.model.bodies), 'body', 'bodies')}: a page that computes is for "
            "robots of at most 110; kinetree.view shows a motion of it"
        )
    if not robot.mass > 0.0:
        raise UnsupportedError(f"{robot.name!r} has no mass, so a page has nothing to compute; kinetree.view shows it")


def _turning(kernels: Kernels, wanted: str | None) -> str:
    """Return the joint that turns at first."""
    if wanted:
        joint = kernels.model.joint(wanted)
        if joint.nv != 1 or joint.v_slice.start not in kernels.independent:
            raise OptionError(
                Message(
                    Setting("turn"),
                    f" must be a joint of one freedom that determines others, not {wanted!r}: "
                    + ", ".join(kernels.model.joints[i].name for i in kernels.turnable),
                )
            )
        return wanted
    alone = wanted is None and kernels.robot.loops is not None and len(kernels.independent) == 1
    return kernels.model.joints[kernels.turnable[0]].name if alone and kernels.turnable else ""


def _speed(kernels: Kernels, given: float | str, turning: str) -> float:
    """Return a speed in SI; its unit must be that of the joint that turns at first."""
    joints = [kernels.model.joint(turning)] if turning else [kernels.model.joints[i] for i in kernels.turnable]
    units = {f"{joint.kind.v_units[0]}/s" for joint in joints} or {"rad/s"}
    found = quantity(given, "speed") if isinstance(given, str) else given
    if isinstance(found, Quantity) and found.unit not in units:
        found.refuse_other(min(units), "speed")
    return real_number(given if found is None else found, "speed", positive=True, unit="rad/s or m/s")


def _facts(kernels: Kernels, numbers: ChosenNumbers, q: Array) -> dict[str, Any]:
    """Describe the mechanism for the scripts of the page."""
    model, robot = kernels.model, kernels.robot
    axis_of, count = [], 0
    for link in model.links:
        axis_of.append(count)
        count += link.kind.nv
    path = [
        [
            [link.v_slice.start + k, axis_of[i] + k, link.ratio if link.follows else 1.0]
            for i in model.support(body)
            for link in [model.links[i]]
            for k in range(link.kind.nv)
        ]
        for body in range(len(model.bodies))
    ]
    motors = simple_motors(model)
    simple = [j for j in model.joints if not j.mimic and j.nq == j.nv == 1]
    known = robot.coordinates_at(q) if robot.loops is not None else None
    rolling = set(model.velocity_constraints) if known else set()
    rows = [i for i in known.rows if i not in rolling] if known else []
    order = {s.name: k for k, s in enumerate(numbers.sliders)}
    return {
        "nq": model.nq, "nv": model.nv, "nz": kernels.equation.system.nz, "q": q,
        "path": path,
        "slides": [unit == "m" for unit in model.v_units],
        "motors": [bool(x) for x in kernels.has_motor],
        "joints": [
            {
                "name": j.name, "label": j.name, "q": j.q_slice.start, "v": j.v_slice.start, "simple": True,
                "body": model.joint_index[j.name], "slides": j.kind.v_units[0] == "m", "unit": j.kind.q_units[0],
                "lower": _finite(j.lower[0]), "upper": _finite(j.upper[0]),
                "motor": j in motors, "independent": j.v_slice.start in kernels.independent,
            }
            for j in simple
        ],
        "names": list(robot.v_names), "forceUnits": list(robot.tau_units),
        "rateUnits": [f"{unit}/s" for unit in robot.v_units],
        "driven": kernels.driven, "independent": list(kernels.independent),
        "constraints": model.n_constraints, "rows": rows,
        "pattern": [list(place) for place in loop_constraints.pattern(model)] if model.is_constrained else [],
        "weights": _weights(robot),
        "pins": [j.name for j in model.joints] + [loop.name for loop in model.loops],
        "pinKinds": [_carries(j.kind) for j in model.joints] + [True for _ in model.loops],
        "loops": [{"body": loop.successor, "point": list(map(float, loop.seat.position))} for loop in model.loops],
        "sliders": [
            {"name": s.name, "group": s.group, "label": s.label, "unit": s.unit, "value": s.value, "low": s.low,
             "high": s.high, "bodies": list(s.bodies)}
            for s in numbers.sliders
        ],
        "numbers": [[n.factor, [[order[name], power] for name, power in n.powers.items()]] for n in numbers.listed()],
        "drives": [model.joint_index[j.name] for j in motors],
        "strength": _strength(robot),
        "works": list(kernels.equation.system.books),
        "rolling": bool(rolling),
    }  # fmt: skip


def code_data(made: WebAssembly) -> dict[str, Any]:
    """Return code and what its functions take and give, as a page reads it."""
    return {"code": np.frombuffer(made.code, dtype=np.uint8), "functions": made.description["functions"]}


def _finite(x: float) -> float:
    return float(np.clip(x, -1e9, 1e9))


def _carries(kind: Any) -> bool:
    """Return whether a joint transmits a force worth naming: a free one does not."""
    return bool(kind.nv < 6)


def _weights(robot: Robot) -> list[float]:
    """Return factors that turn every gap into a length."""
    if robot.loops is None:
        return []
    size = loop_constraints.usual_size(robot.model)
    return [size if unit == "rad" else 1.0 for unit in robot.model.constraint_units]


def _strength(robot: Robot) -> float:
    """Return a torque that is typical of what holds the robot, for the range of sliders."""
    arms = loop_constraints.arms(robot.model)
    g = float(np.linalg.norm(robot.model.gravity)) or 9.81
    return robot.mass * g * max(arms, default=1.0)


def _page(title: str, data: str) -> str:
    """Return the HTML page; scripts that are not this one do not run in it."""
    own, shared = files(__package__) / "web", files("kinetree_studio.view") / "web"
    whole = assembled(
        (own / "page.html"), [(shared, SHARED_SCRIPTS), (own, (*SCRIPTS, "alone.js"))],
        [(shared, ["page.css"]), (own, ["live.css"])],
    )  # fmt: skip
    return whole.replace("{{title}}", html.escape(title)).replace("{{data}}", data)


Named = tuple[tuple[Any, tuple[str, ...]], ...]


def assembled(page: Any, scripts: Sequence[tuple[Any, Sequence[str]]], styles: Any, connect: str = "'none'") -> str:
    """Return a page with its script, its style, and a policy that lets it run no other script.

    page: The file of the page.
    scripts, styles: Folders, each with the names of files in it, in order.
    connect: What the page may talk to.
    """
    return _assembled(page, _named(scripts), _named(styles), connect)


def _named(parts: Sequence[tuple[Any, Sequence[str]]]) -> Named:
    return tuple((folder, tuple(names)) for folder, names in parts)


@cache
def _assembled(page: Any, scripts: Named, styles: Named, connect: str) -> str:
    def read(parts: Named) -> str:
        return "\n".join((folder / name).read_text(encoding="utf-8") for folder, names in parts for name in names)

    script, style = f'\n"use strict";\n{read(scripts)}\n', f"\n{read(styles)}\n"
    allowed = "; ".join([
        "default-src 'none'", "img-src data: blob:", f"style-src {_hash(style)}", f"connect-src {connect}",
        f"script-src {_hash(script)} 'wasm-unsafe-eval'", "base-uri 'none'", "form-action 'none'",
    ])  # fmt: skip
    text = with_head(page).replace("{{policy}}", html.escape(allowed, quote=True))
    return text.replace("{{style}}", style).replace("{{script}}", script)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
