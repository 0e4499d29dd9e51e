"""Motions that are optimal: plans, swing-ups, fastest motions along paths and between states, beside other programs.

Ipopt comes with CasADi; TOPP-RA is the package ``toppra``, Ruckig ``ruckig``.  They are in extras, and rows without
them stay empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np

import kinetree as kt

from .optimal_problems import motions
from .robots import Contest
from .timing import Table, alternate

PANDA = "Panda"
START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
FEW, MANY = 5, 15
"""Iterations of two searches, whose difference is what ten iterations take."""


def optimal(rounds: int) -> Iterator[Table]:
    """Times of an iteration, of swing-ups, of the fastest motion along a path, of one between states."""
    yield iterations(rounds)
    yield swing_ups(rounds)
    yield beside_ipopt(rounds)
    yield fastest(rounds)
    yield jerk_limited(rounds)


def panda() -> kt.Robot:
    robot = Contest.make(PANDA, 1).robot  # its file has the fingers of the hand
    fingers = [name for name in robot.joint_names if "finger" in name]
    return robot.reduced(locked=fingers) if fingers else robot


def iterations(rounds: int) -> Table:
    """An iteration of a plan: derivatives of all nodes, backward pass, new motions and their costs."""
    table = Table("One iteration, Panda, 100 nodes, torque limits, ms a plan", ("plans", "kinetree", "asked"))
    robot = panda()
    for count, asked in ((1, 0.8), (256, 0.15)):
        goals = np.array([0.3, 0.5, 0.3]) + np.random.default_rng(0).uniform(-0.1, 0.1, (count, 3))
        there = kt.optimize.FramePosition("panda_hand", goals, weight=100.0, at="end")
        costs = [kt.optimize.Effort(weight=1e-4), kt.optimize.Velocities(weight=1e-2), there]
        problem = kt.optimize.MotionProblem(
            robot, horizon=1.0, step=0.01, costs=costs, limits=["torques"], tolerance=1e-14
        )

        def run(n: int, problem: kt.optimize.MotionProblem = problem) -> Callable[[], object]:
            return lambda: problem.solve(START, iterations=n)

        best = alternate({"few": run(FEW), "many": run(MANY)}, rounds)
        table.add(f"{count}", (best["many"] - best["few"]) / (MANY - FEW) / count * 1e3, asked)
    return table


def cart_pole() -> kt.Robot:
    made = kt.Builder("cart-pole")
    made.body("cart", "base", kt.Prismatic("x"), mass=1.0, joint_name="track", effort_limit=20.0)
    made.body("pole", "cart", kt.Revolute("y"), mass=0.3, com=(0, 0, -0.5), joint_name="hinge", actuated=False)
    return made.build()


def swing_ups(rounds: int) -> Table:
    """Swing-ups of a cart-pole, to the end of the search: many starts at once, and one."""
    table = Table("Swing-ups of a cart-pole, 50 nodes, ms", ("", "kinetree", "asked"))
    up, h, nodes = [0.0, np.pi], 0.04, 50
    terms = kt.optimize.Effort(weight=1e-2), kt.optimize.Positions(up, weight=0.1)
    limits = ["torques", kt.optimize.Positions(up, at="end"), kt.optimize.Velocities(at="end")]

    def problem(tolerance: float) -> kt.optimize.MotionProblem:
        return kt.optimize.MotionProblem(
            cart_pole(), horizon=nodes * h, step=h, costs=terms, limits=limits, tolerance=tolerance
        )

    one, many = problem(1e-6), problem(1e-4)
    starts = np.column_stack([np.zeros(1000), np.random.default_rng(0).uniform(-0.5, 0.5, 1000)])
    plans = many.solve(starts)
    best = alternate({"many": lambda: many.solve(starts)}, 1)
    table.add(f"1,000 starts ({np.mean(plans.success):.1%} optimal)", best["many"] * 1e3, 1000.0)
    best = alternate({"one": one.solve}, rounds)
    table.add("one", best["one"] * 1e3, "")
    return table


def beside_ipopt(rounds: int) -> Table:
    """Ten problems from the first guess to the end of the search, and Ipopt's optimum from kinetree's plan."""
    table = Table(
        "Ten problems, to optima with a tolerance of 1e-6, ms",
        ("", "kinetree", "iterations", "Ipopt", "its iterations", "ratio", "asked", "costs apart, from one plan"),
    )
    for name, motion in motions(panda()).items():
        problem = motion.problem()
        plan = problem.solve(motion.start)
        ours = alternate({"ours": lambda p=problem, m=motion: p.solve(m.start)}, rounds)["ours"] * 1e3
        if find_spec("casadi") is None:
            table.add(name, ours, plan.iterations, "", "", "", 20.0, "")
            continue
        theirs, (judged, _) = motion.ipopt(plan), motion.ipopt(plan, warm=True)()
        _, count = theirs()
        other = alternate({"theirs": theirs}, 1)["theirs"] * 1e3
        apart = f"{abs(plan.cost - judged) / judged:.1g}"
        table.add(name, ours, plan.iterations, other, count, f"{other / ours:.1f}x", 20.0, apart)
    return table


def fastest(rounds: int) -> Table:
    """The fastest motion along a path of a Panda by 1,000 points, within 60 % of its torques."""
    table = Table(
        "Fastest motion along a path, Panda, 1,001 points, ms a path",
        ("paths", "kinetree", "asked", "TOPP-RA", "ratio"),
    )
    robot, rng = panda(), np.random.default_rng(0)
    most, way = 0.6 * robot.effort_limits, START + rng.uniform(-0.5, 0.5, (5, 7))
    ways = [way + rng.uniform(-0.1, 0.1, way.shape) for _ in range(64)]
    best = alternate({"one": lambda: kt.trajectories.fastest(way, robot, torque=most)}, rounds)
    best |= alternate({"many": lambda: kt.trajectories.fastest(ways, robot, torque=most)}, 2)
    other = alternate({"theirs": toppra(robot, way, most)}, 2)["theirs"] * 1e3 if find_spec("toppra") else float("nan")
    table.add("1", best["one"] * 1e3, 2.0, other, f"{other / best['one'] / 1e3:.1f}x")
    each = best["many"] * 1e3 / len(ways)
    table.add(f"{len(ways)}", each, 0.3, other, f"{other / each:.1f}x")
    return table


def toppra(robot: kt.Robot, way: np.ndarray, most: np.ndarray) -> Callable[[], object]:
    import toppra as library
    from toppra import algorithm, constraint

    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    path = library.SplineInterpolator(ways, way, bc_type="natural")
    speed = constraint.JointVelocityConstraint(np.stack([-robot.velocity_limits, robot.velocity_limits], axis=1))
    torque = constraint.JointTorqueConstraint(
        lambda q, v, a: robot.inverse_dynamics(np.asarray(q), np.asarray(v), np.asarray(a)),
        np.stack([-most, most], axis=1), np.zeros(robot.nv),
        discretization_scheme=constraint.DiscretizationType.Interpolation,
    )  # fmt: skip
    grid = np.linspace(0.0, ways[-1], 1001)

    def solve() -> object:
        found = algorithm.TOPPRA([speed, torque], path, gridpoints=grid, solver_wrapper="seidel")
        return found.compute_parameterization(0.0, 0.0)

    return solve


def jerk_limited(rounds: int) -> Table:
    """The fastest motion of seven joints from rest to rest, within limits of jerk."""
    table = Table(
        "Jerk-limited motion of seven joints, us a motion", ("motions", "kinetree", "asked", "Ruckig", "ratio")
    )
    rng, count = np.random.default_rng(0), 20_000
    start, end = rng.uniform(-1.5, 1.5, (2, count, 7))
    limits = {"velocity": rng.uniform(0.5, 2, 7), "acceleration": rng.uniform(2, 5, 7), "jerk": rng.uniform(10, 30, 7)}
    run = kt.trajectories.jerk_limited
    best = alternate(
        {"many": lambda: run(start, end, **limits), "one": lambda: run(start[0], end[0], **limits)}, rounds
    )
    other = float("nan")
    if find_spec("ruckig"):
        other = alternate({"theirs": ruckig(start[:500], end[:500], limits)}, rounds)["theirs"] / 500 * 1e6
    table.add("1", best["one"] * 1e6, "", other, f"{other / best['one'] / 1e6:.2g}x")
    each = best["many"] / count * 1e6
    table.add(f"{count:,}", each, 2.0, other, f"{other / each:.2g}x")
    return table


def ruckig(start: np.ndarray, end: np.ndarray, limits: dict[str, np.ndarray]) -> Callable[[], object]:
    import ruckig as library

    judge, found, asked = library.Ruckig(7), library.Trajectory(7), library.InputParameter(7)
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = limits.values()

    def solve() -> None:
        for first, last in zip(start, end, strict=True):
            asked.current_position, asked.target_position = first, last
            judge.calculate(asked, found)

    return solve
