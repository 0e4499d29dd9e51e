"""Static equilibrium: where a robot comes to rest under weight, springs and given forces, with some joints held.

At rest, the forces of weight and springs vanish along the free motions: B^T h(q) = B^T tau, where B is a basis of the
motions that loops, held joints and stops allow.  The solution is found by heavily damped motion, like that of a body
in honey: steps of (S + mu M) y = -r, with the stiffness S along B, the mass M and the residual r, on which forces do
work; where S is positive, Newton's method ends it.  So energy falls on every step, and a place from which the robot
would fall away is passed: only a start exactly there stays.  A joint that reaches the end of its range stays there
until everything is at rest; if the stop would then have to pull, the joint is released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.joint_friction import coefficients
from ..algorithms.tendons import damping_force, measure, sprung, stretch
from ..errors import ClosureError, KinetreeWarning, ModelError, OptionError, SingularError, UnsupportedError, warn
from ..evaluation.parameters import ParameterReader, put_in
from ..evaluation.wrenches import Wrenches
from ..io.tables.text import TextTable
from ..io.units import ShownUnits, in_si
from ..loops import rank
from ..loops.limits import PositionLimits
from ..model.limits_of_followers import bounded_by_followers
from ..robot.linear_model import checked_elements, element_forces
from ..robot.make import make
from ..robot.robot import Robot, require_robot
from ..spatial.arrays import Array, as_array, pack, split
from ..spatial.numbers import real_number
from .vibration_modes import Modes, RestMatrices

BALANCED = 1e-9
"""Residuals below this fraction of the acting forces (at least 1 N or N m) count as zero."""

FIRST, LONGEST = 0.05, 0.3
"""Length of the first step, and of the longest one, in radians or meters."""

ASIDE = 1e-4
"""Displacement over which stiffness is measured on the way, in radians or meters."""

CURVED = 1e-7
"""Negative curvatures of the energy below this fraction of the largest are rounding of the differences."""

FALLING = 1e-4
"""Negative curvatures of the energy beyond this fraction of the acting forces (at least 1 N or N m) are left."""

BESIDE, ONE_SIDED = 1e-3, 1e-3
"""Displacement to both sides of a rest, in radians or meters; and the share of the larger work that counts as none."""

STEPS, HALVINGS = 300, 30
"""The most steps, and halvings of a step on which forces do no work."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A configuration at rest, and the forces that hold it; ``print`` shows a table.

    Attributes
    ----------
    q : ndarray (nq,)
    tau : ndarray (nv,)
        Forces of all joints: the holding forces of held joints, and the given forces of others.
    stops : dict
        Joints at an end of their range, by the names of ``robot.v_names``, and the force of the stop on each: positive
        at the lower end, negative at the upper one.
    stiffness : ndarray (m, m)
        Stiffness along the columns of ``motions``.
    motions : ndarray (nv, m)
        The free motions: those that loops, held joints and stops allow.
    stable : bool
        Whether forces do not drive the robot further away after a small displacement; neutral motions, such as a rod
        that spins between two balls or a balanced lamp, count as stable.
    indifferent : int
        How many of the free motions are neutral: nothing brings the robot back after a small displacement along them,
        at least to one side, and nothing drives it away, as where a spring is slack.
    """

    q: Array
    tau: Array
    stiffness: Array
    motions: Array
    stable: bool
    stops: dict[str, float]
    indifferent: int
    _robot: Robot = field(repr=False)
    _matrices: RestMatrices | str = field(repr=False)

    @cached_property
    def modes(self) -> Modes:
        """Natural frequencies, damping ratios and shapes of small vibrations; held joints and stops do not move."""
        if isinstance(self._matrices, str):
            raise SingularError(f"there are no natural frequencies here: {self._matrices}")
        return self._matrices.modes

    @property
    def kind(self) -> str:
        """``"stable"``, ``"unstable"``, or ``"indifferent"``: stable, but not brought back along all motions."""
        return "unstable" if not self.stable else "indifferent" if self.indifferent else "stable"

    @property
    def frequencies(self) -> Array:
        """Natural frequencies in Hz, (freedoms,), the lowest first; 0 for motions without restoring force."""
        return self.modes.frequencies

    def __str__(self) -> str:
        """Return a table of positions and forces of the joints, and of vibrations."""
        return self.text()

    def text(self, units: str | Sequence[str] | ShownUnits | None = None) -> str:
        """Return the tables that ``print`` shows, perhaps in other units, such as ``"deg mm"``."""
        return "\n\n".join(str(table) for table in self._tables(ShownUnits.read(units)))

    @property
    def springs(self) -> dict[str, float]:
        """Tension in N of each spring between points, or along a tendon: negative where it pushes, 0 where slack."""
        model, q = self._robot.model, list(self.q)
        return {t.name: t.stiffness * float(stretch(t, measure(model, t, q).length)) for t in sprung(model)}

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self._tables(ShownUnits()))

    def _tables(self, units: ShownUnits) -> list[TextTable]:
        robot, count = self._robot, self.motions.shape[-1]
        free = f"{count} free motion{'s' if count > 1 else ''}" if count else "nothing is free to move"
        title = f"{robot.name}: {self.kind} equilibrium, {free}"
        if self.kind == "indifferent":
            title += ", nothing brings it back along " + ("it" if count == 1 else f"{self.indifferent} of them")
        elif self.kind == "unstable":
            title += ": beside it, the robot falls away from here"

        def shown(value: float, unit: str, form: str = ".5g") -> str:
            return f"{units.shown(value, unit) + 0.0:{form}} {units.label(unit)}".removesuffix(" 1")

        held = {
            name: (shown(force, unit), shown(self.stops[name], unit, "+.5g") if name in self.stops else "-")
            for name, force, unit in zip(robot.v_names, self.tau, robot.tau_units, strict=True)
        }
        rows = [
            [name, shown(place, unit, ".6g"), *held.pop(name, ("", ""))]
            for name, place, unit in zip(robot.q_names, self.q, robot.q_units, strict=True)
        ]
        rows += [[name, "", *forces] for name, forces in held.items()]  # for ball joints, whose v and q differ
        columns = ("joint", "position", "force", *(("force of the stop",) if self.stops else ()))
        tables = [TextTable(columns, [row[: len(columns)] for row in rows], title, "q and tau have all")]
        if springs := self.springs:
            way = {1.0: "pulls", -1.0: "pushes", 0.0: "slack or relaxed"}
            rows = [[name, shown(abs(x), "N"), way[float(np.sign(x))]] for name, x in springs.items()]
            tables.append(TextTable(("spring", "force", ""), rows, more="springs has all"))
        if count and isinstance(self._matrices, RestMatrices):
            tables.append(self.modes.table())
        return tables


def equilibrium(
    robot: Robot, q_guess: ArrayLike | None = None, *, held: Sequence[str] | Mapping[str, ArrayLike] | None = None,
    tau: Mapping[str, float] | None = None, wrenches: Wrenches = None, forces: Any = (), time: float = 0.0,
    limits: bool = True, parameters: Any = None, descend: bool = True,
) -> Equilibrium:  # fmt: skip
    """Find where a robot comes to rest: static equilibrium under weight, springs and forces.

    From the start the robot sinks as in honey: energy falls on every step, until nothing pushes.  Joint friction is
    left out, so nothing sticks on the way.  A start that is balanced already stays; if it is an unstable place, a
    :class:`KinetreeWarning` says so.

    Parameters
    ----------
    robot : Robot or Mechanism
    q_guess : array_like, shape (nq,), optional
        Where to start; loops are closed there.  By default the neutral configuration or, with loops,
        ``robot.assembled()``.
    held : sequence of joint names, or mapping from joint name to position
        Joints that keep their positions; by default all that have a motor.
    tau : mapping from joint name to force
        Forces at joints that are not held; none by default.
    wrenches
        Loads, as for inverse dynamics.
    forces : force element, function or sequence of them
        Other forces, as in :func:`kinetree.simulate`: springs between points, pushes, fields, functions ``f(t, q, v)``.
    time : float
        Time at which to evaluate forces that change with time.
    limits : bool
        Whether joints stop at their limits (default) or may exceed them.
    parameters : mapping, optional
        Other numbers in place of the robot's own, as in inverse dynamics but without a batch: ``{"tendons": {"spring":
        {"stiffness": 300.0}}}``.  No machine code is made for them.
    descend : bool
        False finds the balanced place nearest to the start by Newton's method alone, stable or not, as for the
        frequencies of an inverted pendulum; nothing warns then.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("flap")
    >>> spring = dict(stiffness=20.0, spring_rest=0.0, actuated=False)
    >>> _ = b.body("flap", "base", kt.Revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), **spring)
    >>> found = kt.equilibrium(b.build())
    >>> round(float(found.q[0]), 4), found.stable, found.frequencies.round(4).tolist()
    (0.2383, True, [1.2374])
    """
    require_robot(robot)
    if parameters is not None:
        robot = _with_other_numbers(robot, parameters)
    if isinstance(held, str):
        raise OptionError(f"held is a list of names of joints; for a single one write [{held!r}]")
    motors = [j.name for j in robot.model.joints if j.actuated and not j.mimic]
    names = motors if held is None else list(held)
    rows = [k for name in names for k in range(*robot.joint(name).v_slice.indices(robot.nv))]
    given = np.zeros(robot.nv)
    for name, force in (tau or {}).items():
        if name in names:
            raise OptionError(f"joint {name!r} is held, so its force is a result: leave it out of tau, or hold others")
        given[robot.joint(name).v_slice] = as_array(force, (), f"the force of {name!r}")
    loads = _OutsideLoads(wrenches, checked_elements(forces), real_number(time, "time"))
    settling = _Settling(robot, names, rows, given, loads, _ranges(robot, rows) if limits else ())
    q, motions = settling.run(settling.start(q_guess, held), descend)
    acting, still = settling.acting(q), np.zeros(robot.nv)
    from_stops = settling.forces_of_stops(q)
    own = given.copy()
    try:
        whole = robot.hybrid_dynamics(
            q, still, a={name: np.zeros(robot.joint(name).nv) for name in names},
            tau={j.name: (given + acting + from_stops)[j.v_slice] for j in robot.model.joints
                 if not j.mimic and j.name not in names},
            wrenches=wrenches,
        )[1]  # fmt: skip
        own[rows] = (whole - acting)[rows]
    except SingularError:  # for bodies without mass; at rest nothing depends on it
        own[rows] = settling.carried(q)[rows]
    stops = {robot.v_names[row]: float(from_stops[row]) for row in settling.stops}
    about: RestMatrices | str
    try:
        about = _matrices(robot, q, own + from_stops, motions, loads)
        stiffness, stable = about.stiffness, about.modes.stable
        shapes, still_there = about.modes.shapes, about.modes.growth == 0.0
        neutral = (about.modes.frequencies == 0.0) & still_there
    except (SingularError, ModelError, UnsupportedError) as problem:  # something without mass can be at rest, too
        stiffness, about = settling.stiffness(q, motions), str(problem)
        sizes, ways = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
        least = ASIDE**2 * np.abs(sizes).max(initial=0.0)
        shapes, still_there, neutral = motions @ ways, sizes >= -least, np.abs(sizes) <= least
        stable = bool(still_there.all())
    neutral |= still_there & settling.one_sided(q, np.real(shapes))
    found = Equilibrium(q, own, stiffness, motions, stable, stops, int(neutral.sum()), robot, about)
    if descend and not stable:
        warn(
            f"{robot.name!r} is balanced here, but does not come to rest here: the equilibrium is unstable, and beside "
            "it the robot falls away. Start beside it (another q_guess) for a place of rest, or pass descend=False if "
            "this is the place you look for",
            KinetreeWarning,
        )
    return found


def _with_other_numbers(robot: Robot, parameters: Any) -> Robot:
    """Return the robot with other parameters, run by the reference backend."""
    given = ParameterReader(robot.model)(parameters)
    if given.numbers is None:
        return robot
    if given.numbers.ndim > 1:
        raise OptionError(
            f"one robot is solved at a time, and parameters have a batch {given.numbers.shape[:-1]}: call equilibrium "
            "for each of them"
        )
    return make(put_in(robot.model, given.places, [float(x) for x in given.numbers]), backend="reference")


class _EndsOfCoordinate(NamedTuple):
    """The range of a coordinate."""

    row: int
    """Index in v."""
    place: int
    """Index in q."""
    low: float
    high: float


def _ranges(robot: Robot, held: Sequence[int]) -> tuple[_EndsOfCoordinate, ...]:
    """Return the coordinates with limits that are not held; the limits of followers apply to their leaders."""
    moving = set(range(robot.nv)) - set(held)
    return tuple(
        _EndsOfCoordinate(row, joint.q_slice.start + k, joint.lower[k], joint.upper[k])
        for joint in bounded_by_followers(robot.model, moving).joints
        if not joint.mimic and joint.nq == joint.nv
        for k, row in enumerate(range(joint.v_slice.start, joint.v_slice.stop))
        if row in moving and np.isfinite([joint.lower[k], joint.upper[k]]).any()
    )


class _OutsideLoads(NamedTuple):
    """The loads from outside."""

    wrenches: Wrenches
    elements: tuple[Any, ...]
    time: float


def _matrices(robot: Robot, q: Array, tau: Array, motions: Array, loads: _OutsideLoads) -> RestMatrices:
    """Return mass, stiffness and damping along motions at rest, exactly; only viscous friction damps.

    The linear model has A = [0 1; -M^-1 K, -M^-1 C] in the independent freedoms, with constant forces of held joints
    and stops: along motions that do not move these joints, that is the same as if they were held.
    """
    model, still = robot.model, np.zeros(robot.nv)
    damping = coefficients(model).damping

    def viscous(t: Any, q: list[Any], v: list[Any]) -> list[Any]:
        along = damping_force(model, q, v)
        return [f - d * rate for f, d, rate in zip(along, damping, v, strict=True)]

    exact = (
        robot if robot.backend == "reference" else robot.with_backend("reference")
    )  # one evaluation, no machine code
    linear = exact.linearize(
        q, still, tau, wrenches=loads.wrenches, friction=False, forces=(*loads.elements, viscous), time=loads.time
    )
    n = len(linear.states) // 2
    rows = [robot.v_names.index(name) for name in linear.states[:n]]
    g = np.eye(robot.nv) if exact.loops is None else exact.basis(q)
    mass, y = g.T @ robot.tree.mass_matrix(q) @ g, motions[rows]
    stiffness, damped = (-(y.T @ mass @ part @ y) for part in (linear.A[n:, :n], linear.A[n:, n:]))
    return RestMatrices(tuple(robot.v_names), motions, y.T @ mass @ y, stiffness, damped)


@dataclass
class _Settling:
    """Moves a robot with some joints held until nothing pushes it."""

    robot: Robot
    held: Sequence[str]
    rows: Sequence[int]
    given: Array
    loads: _OutsideLoads
    ranges: Sequence[_EndsOfCoordinate]
    stops: dict[int, float] = field(default_factory=dict)
    """Indices in v of joints at an end of their range, with 1 for the lower end and -1 for the upper one."""

    @property
    def fixed(self) -> list[int]:
        """Indices in v of joints that do not move."""
        return sorted({*self.rows, *self.stops})

    def start(self, q_guess: ArrayLike | None, held: Any) -> Array:
        """Return the start, with closed loops and within limits."""
        robot, known = self.robot, PositionLimits(self.robot.model)
        free = np.isin(np.arange(robot.nv), self.rows, invert=True)
        if q_guess is not None:
            q = np.array(as_array(q_guess, (robot.nq,), "q_guess"), dtype=float)
            if q.ndim != 1:
                raise OptionError(
                    f"one configuration is solved at a time; q_guess has shape {q.shape}: call equilibrium for each, "
                    "[kt.equilibrium(robot, q) for q in guesses]"
                )
        elif robot.loops is not None:
            q = np.array(robot.assembled())
        else:
            q = known.clipped(robot.neutral(), free) if self.ranges else robot.neutral()
        if isinstance(held, Mapping):
            for name, place in held.items():
                spot, what = robot.joint(name).q_slice, f"the position of {name!r}"
                q[spot] = as_array(in_si(place, robot.q_units[spot.start], what), (), what)
        q = robot.normalize(q)
        if self.ranges and not known.hold(q):
            raise OptionError(f"it cannot start there: {known.in_words(q)}. limits=False ignores limits")
        return q if robot.loops is None else robot.close(q, fixed=list(self.held), limits=bool(self.ranges))

    def closed(self, q: Array) -> Array:
        """Return configurations with closed loops; held joints and those at stops keep their positions."""
        loops = self.robot.loops
        if loops is None:
            return q
        if not self.stops:
            return loops.closing.close(q, fixed=list(self.held), limits=False)
        free = np.isin(np.arange(self.robot.nv), self.fixed, invert=True)
        found, done = loops.closing.closed_from(q.reshape(-1, self.robot.nq), free)
        if not done.all():
            names = ", ".join(self.robot.v_names[k] for k in self.fixed)
            raise ClosureError(f"the loops of {self.robot.name!r} do not close with {names} where they are")
        return found.reshape(q.shape)

    def basis(self, q: Array) -> Array:
        """Return the motions that loops allow, (..., nv, n)."""
        nv = self.robot.nv
        if self.robot.loops is not None:
            try:
                return self.robot.basis(q)
            except SingularError:
                raise self.stuck(q) from None
        return np.broadcast_to(np.eye(nv), (*q.shape[:-1], nv, nv))

    def stuck(self, q: Array) -> SingularError:
        """Return the error that says where settling met a configuration in which the independent freedoms are stuck."""
        robot, lanes = self.robot, q.reshape(-1, self.robot.nq)
        lanes = lanes[np.isfinite(lanes).all(axis=-1)]
        k = robot.loop_jacobian(lanes)
        own = [robot.v_names.index(name) for name in robot.independent()]
        others = np.delete(k, own, axis=-1)
        worst = int(np.argmin(np.linalg.svd(others, compute_uv=False)[:, : robot.nv - len(own)].min(axis=-1)))
        motions, names = rank.null_space(k[worst], robot.nv - len(own)), list[str]()
        for _ in own:  # those that move most, one for each motion
            sizes = np.linalg.norm(motions, axis=-1)
            names.append(robot.v_names[row := int(np.argmax(sizes))])
            motions = motions - np.outer(motions @ motions[row], motions[row]) / sizes[row] ** 2
        joints = dict.fromkeys(next(j for j in robot.model.joints if row in j.freedoms) for row in own)
        at = [k for j in joints for k in range(j.q_slice.start, j.q_slice.stop)]
        places = ", ".join(f"{robot.q_names[k]} = {lanes[worst, k]:.4g} {robot.q_units[k]}" for k in at)
        return SingularError(
            f"{robot.name!r} comes to a dead point while it settles, at {places}: there its motion does not follow "
            f"from {', '.join(robot.independent())}. Take freedoms that move there, "
            f"equilibrium(robot.with_independent({names}), ...), or a q_guess nearer to the rest"
        )

    def free(self, q: Array) -> Array:
        """Return the motions that loops, held joints and stops allow, (..., nv, m)."""
        g = self.basis(q)
        _, sizes, vt = np.linalg.svd(g[..., self.fixed, :])
        rank = int((sizes > 1e-9).sum(axis=-1).max(initial=0))
        return np.asarray(g @ np.swapaxes(vt[..., rank:, :], -1, -2))

    def acting(self, q: Array) -> Array:
        """Return the effect of force elements as joint forces, (..., nv)."""
        if not self.loads.elements:
            return np.zeros((*q.shape[:-1], self.robot.nv))
        still: list[Any] = [np.zeros(q.shape[:-1]) for _ in range(self.robot.nv)]
        with np.errstate(all="ignore"):
            found = element_forces(self.robot.model, self.loads.elements, self.loads.time, split(q), still)
        return pack(found, q.shape[:-1])

    def pushed(self, q: Array) -> Array:
        """Return the residual force at every joint, (..., nv)."""
        still = np.zeros(self.robot.nv)
        asked = self.robot.tree.inverse_dynamics(q, still, still, self.loads.wrenches)
        return np.asarray(asked - self.given - self.acting(q))

    def forces_of_stops(self, q: Array) -> Array:
        """Return the forces of stops, zero at all other joints, (nv,); held joints carry their part."""
        of_stops = np.isin(np.arange(self.robot.nv), list(self.stops))
        return np.where(of_stops, self.carried(q), 0.0) if self.stops else np.zeros(self.robot.nv)

    def carried(self, q: Array) -> Array:
        """Return what held joints and stops carry, zero at all other joints, (nv,)."""
        g, fixed, found = self.basis(q), self.fixed, np.zeros(self.robot.nv)
        found[fixed] = np.linalg.lstsq(g[fixed].T, g.T @ self.pushed(q), rcond=1e-9)[0]
        return found

    def let_go(self, q: Array, none: float) -> bool:
        """Release the joint whose stop would have to pull most; return whether there is one."""
        forces = self.forces_of_stops(q)
        pulling = {row: -side * forces[row] for row, side in self.stops.items()}
        worst = max(pulling, key=lambda row: pulling[row], default=None)
        if worst is None or pulling[worst] <= none:
            return False
        del self.stops[worst]
        return True

    def stopped(self, q: Array, step: Array, reached: Array) -> tuple[Array, float] | None:
        """Return where the first joint reaches an end of its range on the way, and at what share, if one does."""
        found: list[tuple[float, _EndsOfCoordinate, float]] = []
        for own in self.ranges:
            if own.row in self.stops:
                continue
            before, after = q[own.place], reached[own.place]
            for bound, side in ((own.low, 1.0), (own.high, -1.0)):
                if side * (after - bound) < 0.0:
                    way = abs(after - before)
                    found.append((min(1.0, abs(bound - before) / way) if way else 0.0, own, side))
        if not found:
            return None
        share, first, side = min(found, key=lambda hit: hit[0])
        self.stops[first.row] = side
        there = self.robot.normalize(self.robot.integrate(q, share * step))
        there[first.place] = first.low if side > 0.0 else first.high
        return self.closed(there), share

    def stiffness(self, q: Array, motions: Array) -> Array:
        """Return the derivative of the residual along the free motions, including the rotation of the motions."""
        count = motions.shape[-1]
        if not count:
            return np.zeros((0, 0))
        ways = np.concatenate([motions.T, -motions.T]) * ASIDE
        beside = self.closed(self.robot.integrate(np.broadcast_to(q, (2 * count, len(q))), ways))
        there = self.free(beside)
        along = there @ np.linalg.inv(motions.T @ there) @ (motions.T @ motions)  # with equal length along the motions
        r = (np.swapaxes(along, -1, -2) @ self.pushed(beside)[..., None])[..., 0]
        return np.asarray((r[:count] - r[count:]).T / (2.0 * ASIDE))

    def one_sided(self, q: Array, shapes: Array) -> Array:
        """Return for each motion whether it costs no energy to one side, as at the end of a spring that only pushes."""
        count = shapes.shape[-1]
        if not count:
            return np.zeros(0, dtype=bool)
        ways = BESIDE * shapes.T / np.abs(shapes).max(axis=0)[:, None]
        try:
            gained = [self.work(q, way, self.closed(self.robot.integrate(q, way))) for way in (*ways, *-ways)]
        except (ClosureError, SingularError):  # next to the end of the loops' range, where energy rises anyway
            return np.zeros(count, dtype=bool)
        sides = np.abs(gained).reshape(2, count)
        return np.asarray(sides.min(axis=0) <= ONE_SIDED * sides.max(axis=0))

    def missing(self, q: Array) -> tuple[Array, Array, float]:
        """Return the free motions at a configuration, the residual along them, and the size that counts as zero."""
        motions, h = self.free(q), self.pushed(q)
        return motions, motions.T @ h, BALANCED * max(1.0, float(np.abs(h).max(initial=0.0)))

    def run(self, q: Array, descend: bool) -> tuple[Array, Array]:
        """Return the configuration at rest, and the motions that are free there.

        descend: Whether only steps are taken on which energy falls.
        """
        radius, moving = FIRST, False
        for _ in range(STEPS):
            motions, r, none = self.missing(q)
            size = float(np.linalg.norm(r))
            if size <= none:
                aside = self.off_the_ridge(q, motions, none) if descend and moving else None
                if aside is None and not self.let_go(q, none):
                    return q, motions
                q, radius, moving = q if aside is None else aside, FIRST, True
                continue
            stiffness = self.stiffness(q, motions)
            downhill = self.downhill(q, motions, stiffness, r)
            near = -np.linalg.lstsq(stiffness, r, rcond=1e-12)[0]
            if np.abs(motions @ near).max() <= FIRST and (downhill.is_valley or not descend):
                stops = dict(self.stops)
                reached, share = self.moved(q, motions @ near)
                if (
                    reached is not None
                    and np.linalg.norm(self.missing(reached)[1]) <= 0.5 * size
                    and (not descend or self.work(q, share * (motions @ near), reached) < 0.0)
                ):
                    q, moving = reached, True
                    continue
                self.stops = stops
            for _ in range(HALVINGS):
                step, stops = downhill.step(radius), dict(self.stops)
                reached, share = self.moved(q, step)
                if reached is not None and self.falls(q, share * step, reached):
                    radius = min(LONGEST, 2.0 * radius)
                    break
                self.stops = stops
                radius *= 0.25
            q, moving = q if reached is None else reached, True
        worst = self.robot.v_names[int(np.argmax(np.abs(motions @ r)))]
        raise SingularError(
            f"{self.robot.name!r} does not come to rest from this guess: after {STEPS} steps {size:.3g} (N, N m) still "
            f"push, most at {worst!r}. It may fall without end, or turn freely: hold it (held=[...]), or start closer"
        )

    def downhill(self, q: Array, motions: Array, stiffness: Array, r: Array) -> _Downhill:
        """Return the steps that lose energy."""
        return _Downhill(stiffness, motions.T @ self.robot.tree.mass_matrix(q) @ motions, r, motions)

    def off_the_ridge(self, q: Array, motions: Array, none: float) -> Array | None:
        """Return a place beside a balanced one from which the robot falls away, or None where it does not."""
        if not motions.shape[-1]:
            return None
        around = self.downhill(q, motions, self.stiffness(q, motions), np.zeros(motions.shape[-1]))
        way, curvature = around.steepest
        if curvature >= -FALLING * none / BALANCED:
            return None
        for length in (FIRST, 0.1 * FIRST, 0.01 * FIRST):
            for side in (1.0, -1.0):
                stops, step = dict(self.stops), side * length * way
                reached, share = self.moved(q, step)
                if reached is not None and share == 1.0 and self.falls(q, step, reached):
                    return reached
                self.stops = stops
        return None

    def falls(self, q: Array, step: Array, reached: Array) -> bool:
        """Return whether energy falls on a step: forces at both ends do work, and where all have an energy, it is less.

        On long steps forces at the ends may miss a ridge in between.
        """
        if not self.work(q, step, reached) < 0.0:
            return False
        if np.abs(step).max() <= FIRST or self.loads.wrenches is not None or self.loads.elements:
            return True
        before, after = self.energy(q), self.energy(reached)
        gained = after - before - float(self.given @ self.robot.difference(q, reached))
        return gained <= 1e-12 * max(1.0, abs(before), abs(after))

    def energy(self, q: Array) -> float:
        """Return the potential energy, without machine code made for it."""
        return float(self.slow.potential_energy(q))

    @cached_property
    def slow(self) -> Robot:
        """The robot, run without machine code."""
        return self.robot if self.robot.backend == "reference" else self.robot.with_backend("reference")

    def work(self, q: Array, step: Array, reached: Array) -> float:
        """Return the work of a step, from the forces at both of its ends."""
        there, missing, _ = self.missing(reached)
        return float(0.5 * (step @ self.pushed(q) + np.linalg.lstsq(there, step, rcond=None)[0] @ missing))

    def moved(self, q: Array, step: Array) -> tuple[Array | None, float]:
        """Return where a step leads, and the share of it until a joint reached a stop, 1 without.

        The result is None if loops do not close.
        """
        try:
            reached = self.closed(self.robot.normalize(self.robot.integrate(q, step)))
        except ClosureError:
            return None, 0.0
        return self.stopped(q, step, reached) or (reached, 1.0)


class _Downhill:
    """Steps that lose energy: (S + mu M) y = -r, with the least mu that makes S + mu M positive and the step short.

    No joint moves far: near a dead point, a short way of the independent freedoms may be turns of the others.
    """

    def __init__(self, stiffness: Array, mass: Array, r: Array, motions: Array) -> None:
        floor = 1e-9 * max(float(np.trace(mass)), 1e-12) * np.eye(len(mass))  # for motions without mass
        inverse = np.linalg.inv(np.linalg.cholesky(mass + floor))
        self.sizes, x = np.linalg.eigh(inverse @ (0.5 * (stiffness + stiffness.T)) @ inverse.T)
        self.back, self.along = motions @ inverse.T @ x, x.T @ inverse @ r

    @property
    def is_valley(self) -> bool:
        """Whether the energy is curved upward along all motions."""
        return bool(self.sizes.min() >= -CURVED * np.abs(self.sizes).max())

    @property
    def steepest(self) -> tuple[Array, float]:
        """The motion along which the energy is curved downward most, its largest entry 1, and that curvature."""
        most = np.abs(self.back[:, 0]).max()
        return self.back[:, 0] / most, float(self.sizes[0] / most**2)

    def step(self, radius: float) -> Array:
        """Return the step of all joints, of which none moves more than ``radius`` radians or meters."""
        least = max(0.0, -float(self.sizes.min()))
        beyond = 1e-9 * max(float(np.abs(self.sizes).max()), 1e-12)
        while True:
            step = -self.back @ (self.along / (self.sizes + least + beyond))
            excess = float(np.abs(step).max()) / radius
            if not excess > 1.0:
                return np.asarray(step)
            beyond *= max(1.5, 0.5 * excess)
