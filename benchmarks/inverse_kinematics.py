"""Inverse kinematics: random reachable poses from the neutral configuration, beside the same search on Pinocchio.

Pinocchio has no inverse kinematics of its own; its manual shows a loop in Python around its kinematics.  The loop
here is of that kind, with what kinetree's search has, too: damping by Levenberg and Marquardt, joint limits, and
further starts at random where one leads nowhere.  Both go to the same tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

import kinetree as kt

from .robots import Contest
from .timing import Table, alternate, repeated

BATCHES = (512, 4096)
LOOPED = 96
"""Poses of which the loop's time is taken."""

FRAMES = {"UR5": "tool0", "Panda": "panda_hand_tcp"}
TOLERANCE, STEPS, ATTEMPTS = 1e-9, 200, 30
NEARBY = 0.05
"""Radians between the guess and a solution, as in following a path."""


def inverse_kinematics(rounds: int) -> list[Table]:
    """One table."""
    table = Table(
        "Inverse kinematics to 1e-9 m and rad, us per pose (Pinocchio: the same search as a loop in Python)",
        ("", *(f"batch of {n}" for n in BATCHES), "nearby, 4096", "one nearby", "reached", "Pinocchio", "reached",
         "ratio"),
    )  # fmt: skip
    for name, frame in FRAMES.items():
        contest = Contest.make(name, max(BATCHES))
        robot, goals = contest.robot, contest.robot.pose(contest.q, frame)
        low, high = robot.lower_limits, robot.upper_limits
        shift = np.random.default_rng(1).uniform(-NEARBY, NEARBY, contest.q.shape)
        near = np.clip(contest.q + shift, low, high)
        loop = Loop(contest.model, frame, goals[:LOOPED])

        def solve(count: int, guess: np.ndarray | None = None, r=robot, f=frame, g=goals) -> kt.inverse_kinematics:
            return kt.inverse_kinematics(
                r, f, g[:count], guess, tolerance=TOLERANCE, iterations=STEPS, attempts=ATTEMPTS, must_reach=False
            )

        best = alternate(
            {
                **{str(n): lambda n=n, s=solve: s(n) for n in BATCHES},
                "nearby": lambda s=solve, q=near: s(len(q), q),
                "one": repeated(lambda s=solve, q=near: s(1, q[:1]), 16),
                "loop": loop,
            },
            rounds,
        )
        batches = [best[str(n)] / n * 1e6 for n in BATCHES]
        nearby, one, theirs = best["nearby"] / len(near) * 1e6, best["one"] / 16 * 1e6, best["loop"] / LOOPED * 1e6
        reached = f"{100 * solve(max(BATCHES)).reached.mean():.2f} %"
        table.add(
            name, *batches, nearby, one, reached, theirs, f"{100 * loop().mean():.0f} %", f"{theirs / batches[-1]:.0f}x"
        )
    return [table]


@dataclass
class Loop:
    """The search in Python, one pose after the other."""

    model: pin.Model
    frame: str
    goals: np.ndarray

    def __post_init__(self) -> None:
        self.data, self.index = self.model.createData(), self.model.getFrameId(self.frame)
        low, high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        neutral = pin.neutral(self.model)
        self.start = np.where((neutral < low) | (neutral > high), 0.5 * (low + high), neutral)

    def __call__(self) -> np.ndarray:
        """Which poses were reached."""
        pin.seed(0)
        return np.array([self._reach(goal) for goal in self.goals])

    def _reach(self, goal: np.ndarray) -> bool:
        starts = (pin.randomConfiguration(self.model) if k else self.start for k in range(ATTEMPTS))
        return any(self._attempt(goal, q) for q in starts)

    def _attempt(self, goal: np.ndarray, q: np.ndarray) -> bool:
        low, high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        error = self._missing(goal, q)
        damping, size, mark = 0.3, error @ error, np.inf
        for step in range(STEPS):
            if max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) < TOLERANCE:
                return True
            if step % 8 == 0:
                if size > 0.99 * mark:
                    return False
                mark = size
            jacobian = pin.computeFrameJacobian(self.model, self.data, q, self.index, pin.LOCAL_WORLD_ALIGNED)
            pull = jacobian.T @ error
            jacobian = jacobian * ~(((q <= low) & (pull < 0)) | ((q >= high) & (pull > 0)))
            square = jacobian @ jacobian.T
            share = damping * size / (1.0 + size) + 1e-12
            weights = np.linalg.solve(square + share * np.trace(square) / 6 * np.eye(6), error)
            tried = np.clip(pin.integrate(self.model, q, jacobian.T @ weights), low, high)
            missing = self._missing(goal, tried)
            if missing @ missing < size:
                q, error, size, damping = tried, missing, missing @ missing, max(0.5 * damping, 1e-6)
            else:
                damping *= 5.0
        return False

    def _missing(self, goal: np.ndarray, q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, q)
        here = self.data.oMf[self.index]
        turn = pin.log3(goal[:3, :3] @ here.rotation.T)
        return np.concatenate([goal[:3, 3] - here.translation, turn])
