"""Ten problems of optimal motions, for kinetree and for Ipopt through CasADi.

Ipopt gets the same nodes, semi-implicit Euler steps from kinetree's equations as CasADi's expressions, exact second
derivatives, and the same first guess: the robot rests where it starts, and motors hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import kinetree as kt

PANDA_START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


@dataclass
class Motion:
    """What a motion should do: weights of squares, integrated over time, and what holds at the end or always."""

    robot: kt.Robot
    nodes: int
    step: float
    effort: float
    start: Any = None
    positions: float = 0.0
    velocities: float = 0.0
    target: Any = None
    """Where the motion ends, at rest, and what positions are weighed against."""
    frame: str = ""
    """A frame that reaches a place at the end, at rest, instead."""
    place: Any = None
    axes: str = "xyz"
    ranges: dict[str, float] = field(default_factory=dict)
    """The largest position or velocity of coordinates, by name: ``"q0"`` or ``"v0"``."""

    def problem(self, tolerance: float = 1e-6) -> kt.optimize.MotionProblem:
        """Return it for kinetree."""
        o = kt.optimize
        costs: list[Any] = [o.Effort(weight=self.effort)]
        if self.positions:
            costs.append(o.Positions(self.target, weight=self.positions))
        if self.velocities:
            costs.append(o.Velocities(weight=self.velocities))
        limits: list[Any] = ["torques", o.Velocities(at="end")]
        if self.frame:
            limits.append(o.FramePosition(self.frame, self.place, axes=self.axes, at="end"))
        else:
            limits.append(o.Positions(self.target, at="end"))
        for name, most in self.ranges.items():
            k = int(name[1:])
            own = o.Residual(lambda m, k=k, what=name[0]: getattr(m, what)[k], name=name)
            limits.append(o.Bounded(own, -most, most))
        return o.MotionProblem(
            self.robot, horizon=self.nodes * self.step, step=self.step, costs=costs, limits=limits, tolerance=tolerance,
            friction=False,
        )  # fmt: skip

    def ipopt(self, plan: kt.optimize.Plan, warm: bool = False) -> Callable[[], tuple[float, int]]:
        """Return a function that solves it with Ipopt, from rest or from a plan: cost, iterations."""
        import casadi as ca

        robot, n, h, d = self.robot, self.nodes, self.step, plan.problem.dynamics
        accelerate = kt.symbolic.function(robot, "forward_dynamics", "casadi")
        opti, nv, nu = ca.Opti(), robot.nv, d.nu
        q, v, u = opti.variable(nv, n + 1), opti.variable(nv, n + 1), opti.variable(nu, n)
        spread = np.zeros((nv, nu))
        spread[d.motor_freedoms, range(nu)] = 1.0
        most = robot.effort_limits[d.motor_freedoms]
        for k in range(n):
            opti.subject_to(v[:, k + 1] == v[:, k] + h * accelerate(q[:, k], v[:, k], spread @ u[:, k]))
            opti.subject_to(q[:, k + 1] == q[:, k] + h * v[:, k + 1])
            for i in np.flatnonzero(np.isfinite(most)):
                opti.subject_to(opti.bounded(-most[i], u[i, k], most[i]))
        cost = self.effort * ca.sumsqr(u) + self.velocities * ca.sumsqr(v[:, :n])
        if self.positions:
            cost += self.positions * ca.sumsqr(q[:, :n] - ca.DM(np.asarray(self.target, dtype=float)))
        opti.minimize(h * cost)
        opti.subject_to(q[:, 0] == plan.q[0])
        opti.subject_to(v[:, 0] == 0)
        opti.subject_to(v[:, n] == 0)
        if self.frame:
            place = kt.symbolic.function(robot, "pose", "casadi", frame=self.frame)
            rows = ["xyz".index(axis) for axis in self.axes]
            opti.subject_to(place(q[:, n])[rows, 3] == np.asarray(self.place, dtype=float)[rows])
        else:
            opti.subject_to(q[:, n] == np.asarray(self.target, dtype=float))
        for name, limit in self.ranges.items():
            number = (q if name[0] == "q" else v)[int(name[1:]), :n]
            opti.subject_to(opti.bounded(-limit, number, limit))
        opti.solver("ipopt", {"print_time": 0}, {"print_level": 0, "sb": "yes", "tol": 1e-9, "max_iter": 1000})
        hold = robot.gravity_force(plan.q[0])[d.motor_freedoms]
        guess: tuple[Any, ...] = np.tile(plan.q[0], (n + 1, 1)).T, 0.0, np.tile(hold, (n, 1)).T
        if warm:
            guess = plan.q.T, plan.v.T, plan.u.T

        def solve() -> tuple[float, int]:
            for name, numbers in zip((q, v, u), guess, strict=True):
                opti.set_initial(name, numbers)
            try:
                found = opti.solve()
            except RuntimeError:  # no optimum
                return float("nan"), int(opti.stats()["iter_count"])
            return float(found.value(opti.f)), int(opti.stats()["iter_count"])

        return solve


def _chain(lengths: list[float], torques: list[float | None], axis: str = "y") -> kt.Robot:
    b = kt.Builder("arm")
    for k, (length, torque) in enumerate(zip(lengths, torques, strict=True)):
        drive = {"actuated": False} if torque is None else {"effort_limit": torque}
        place = (0, 0, -lengths[k - 1]) if k else (0, 0, 0)
        b.body(
            f"link{k}", f"link{k - 1}" if k else "base", kt.Revolute(axis), position=place, mass=1.0,
            com=(0, 0, -0.5 * length), inertia=(0.1, 0.1, 0.02), **drive,
        )  # fmt: skip
    return b.frame("hand", f"link{len(lengths) - 1}", (0, 0, -lengths[-1])).build()


def _cart(cart: float, load: float, length: float, force: float) -> kt.Robot:
    b = kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=cart, effort_limit=force)
    return b.body("pole", "cart", kt.Revolute("y"), mass=load, com=(0, 0, -length), actuated=False).build()


def _turning_arm() -> kt.Robot:
    b = kt.Builder("arm")
    for k, (axis, torque) in enumerate((("z", 4.0), ("y", 12.0), ("y", 6.0), ("x", 2.0))):
        b.body(
            f"link{k}", f"link{k - 1}" if k else "base", kt.Revolute(axis), position=(0, 0, 0.3), mass=1.0,
            com=(0.01, 0.0, 0.15), inertia=(0.01, 0.01, 0.003), effort_limit=torque,
        )  # fmt: skip
    return b.frame("hand", "link3", (0.05, 0, 0.2)).build()


def motions(panda: kt.Robot | None = None) -> dict[str, Motion]:
    """Return the problems by name; that of a Panda only if there is one."""
    block = kt.Builder("block").body("block", "base", kt.Prismatic("x"), mass=1.0, effort_limit=6.0).build()
    pole, crane, up = _cart(1.0, 0.3, 0.5, 20.0), _cart(5.0, 3.0, 1.0, 30.0), [0.0, np.pi]
    two = _chain([1.0, 1.0], [20.0, 8.0])
    found = {
        "double integrator": Motion(block, 50, 0.02, 1.0, target=[1.0]),
        "pendulum, weak motor": Motion(_chain([1.0], [2.0]), 100, 0.03, 0.01, target=[np.pi]),
        "pendulum, slow": Motion(_chain([1.0], [12.0]), 50, 0.04, 0.01, target=[np.pi], ranges={"v0": 2.0}),
        "cart-pole": Motion(pole, 50, 0.04, 0.01, positions=0.1, target=up),
        "cart-pole, short track": Motion(pole, 50, 0.04, 0.01, positions=0.1, target=up, ranges={"q0": 0.35}),
        "acrobot": Motion(_chain([1.0, 1.0], [None, 25.0]), 80, 0.04, 0.01, velocities=0.01, target=[np.pi, 0.0]),
        "crane": Motion(crane, 100, 0.03, 0.01, target=[2.0, 0.0], ranges={"q1": 0.15}),
        "two-link reach": Motion(two, 50, 0.02, 1e-3, start=[0.0, 0.3], frame="hand", place=[1.2, 0.0, 0.4], axes="xz"),
        "four-joint reach": Motion(
            _turning_arm(), 25, 0.03, 1e-3, start=[0.2, 0.6, 0.9, 0.0], velocities=0.02, frame="hand",
            place=[0.35, 0.35, 0.75],
        ),
    }  # fmt: skip
    if panda is not None:
        found["Panda reach"] = Motion(
            panda, 50, 0.02, 1e-3, start=PANDA_START, velocities=0.01, frame="panda_hand", place=[0.4, 0.4, 0.4]
        )
    return found
