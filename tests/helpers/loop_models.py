"""Mechanisms with loops for the tests, in code; data from the sources (Shah tables 8.1-8.3, 10.3; Saha section 3.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt

TURN = kt.Revolute("z")
DOWN = (0.0, -9.81, 0.0)


def rod(length: float, mass: float, com: float | None = None) -> dict[str, Any]:
    """A slender rod along x from its joint; ``com`` along it where it is not the middle."""
    inertia = mass * length**2 / 12
    return {"mass": mass, "com": (length / 2 if com is None else com, 0, 0), "inertia": (0, inertia, inertia)}


def passive(builder: kt.Builder, name: str, parent: str, position: Any, body: dict[str, Any], **more: Any) -> None:
    """A body on a passive hinge."""
    builder.body(name, parent, TURN, position=position, actuated=False, **body, **more)


def four_bar(cut: int = 4, coupler: str = "half", tilt: Any = None) -> kt.Mechanism:
    """Shah tables 10.3 ("half") and 8.1 ("whole"): crank, link 2 on the ground, link 3 on it.

    Cut 4 opens crank-coupler (crank | link 2, link 3), cut 3 opens link 2-link 3 (crank, link 3 | link 2),
    as in Shah figure 8.2.  ``tilt`` turns everything, gravity included, out of the coordinate plane.
    """
    third = rod(0.1152, 5.0) if coupler == "half" else rod(0.2304, 5.0, 0.0)
    r = kt.Pose.of(rpy=tilt) if tilt is not None else kt.Pose()
    turn = np.array(r.rotation, dtype=float).reshape(3, 3)
    axis = kt.Revolute(turn @ [0, 0, 1])

    def turned(body: dict[str, Any]) -> dict[str, Any]:
        return {
            "mass": body["mass"],
            "com": turn @ np.array(body["com"]),
            "inertia": turn @ np.diag(body["inertia"]) @ turn.T,
        }

    b = kt.Builder("four-bar", gravity=turn @ np.array(DOWN))
    b.body("crank", "base", axis, **turned(rod(0.038, 1.5)))
    b.body("link2", "base", axis, position=turn @ [-0.0895, 0, 0], actuated=False, **turned(rod(0.1152, 3.0)))
    end1, end2, end3 = turn @ [0.038, 0, 0], turn @ [0.1152, 0, 0], turn @ [0.1152, 0, 0]
    if cut == 4:
        b.body("link3", "link2", axis, position=end2, actuated=False, **turned(third))
        b.loop("cut", "crank", "link3", axis, placement=end1, seat=end3)
    else:
        # link 3's frame stays at its joint with link 2, so that it is the same body
        b.body(
            "link3", "crank", axis, position=end1, actuated=False,
            **turned({**third, "com": (third["com"][0] - 0.1152, 0, 0)}),
        )  # fmt: skip
        b.loop("cut", "link2", "link3", axis, placement=end2, seat=-end3)
    return b.build()


def four_bar_state(t: Any, mechanism: kt.Mechanism, cut: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The crank turning at 3 pi/2 rad/s, by Shah table 10.5 (sign of its square root corrected)."""
    t = np.asarray(t, dtype=float)
    a1, a3, ground = 0.038, 0.1152, 0.0895
    al1 = 1.5 * np.pi * t
    p, s = a1 * np.cos(al1) + ground, a1 * np.sin(al1)
    x, y = s / a1, p / a1
    z = (p * p + s * s) / (2 * a3 * a1)  # both other links are equally long
    root = np.sqrt(x * x + y * y - z * z)
    al3, al2 = 2 * np.arctan2(x - root, y + z), 2 * np.arctan2(x + root, y + z)
    q = np.stack([al1, al2, 2 * np.pi + al3 - al2 if cut == 4 else al3 - al1], axis=-1)
    v = mechanism.velocities(q, np.full((*t.shape, 1), 1.5 * np.pi))
    return q, v, mechanism.accelerations(q, v, np.zeros((*t.shape, 1)))


def leg() -> kt.Mechanism:
    """Shah section 8.4: Hoeken's four-bar and a pantograph; pivots from the notes, section 8."""
    b = kt.Builder("leg", gravity=DOWN)
    b.body("l1", "base", TURN, **rod(0.025, 0.010))
    passive(b, "l2", "base", (0.050, 0, 0), rod(0.0625, 0.020))
    passive(b, "l3", "l2", (0.0625, 0, 0), rod(0.125, 0.050, 0.0))
    passive(b, "l4", "base", (0.070, -0.030, 0), rod(0.200, 0.080))
    passive(b, "l5", "l4", (0.050, 0, 0), rod(0.075, 0.030))
    passive(b, "l6", "l4", (0.200, 0, 0), rod(0.300, 0.120))
    passive(b, "l7", "l6", (0.075, 0, 0), rod(0.150, 0.060))
    b.loop("cut8", "l1", "l3", TURN, placement=(0.025, 0, 0), seat=(0.0625, 0, 0))
    b.loop("cut9", "l3", "l5", TURN, placement=(-0.0625, 0, 0), seat=(0.075, 0, 0))
    b.loop("cut10", "l7", "l5", TURN, placement=(0.150, 0, 0), seat=(0.075, 0, 0))
    return b.build()


LEG_START = np.array([0, 4.51103, -2.73888, -0.87644, -1.46037, -1.46037, -1.68122])


def scraper() -> tuple[kt.Mechanism, np.ndarray]:
    """Saha section 4.4, table 5 (inertias about link origins), and an assembled configuration."""

    def link(mass: float, com: float, inertia: float) -> dict[str, Any]:
        return {"mass": mass, "com": (com, 0, 0), "inertia": (0, inertia, inertia), "about": "origin"}

    b = kt.Builder("carpet scraper", gravity=DOWN)
    passive(b, "rocker", "base", (-0.089, 0, 0), link(3.0, 0.0575, 0.0133))
    passive(b, "coupler", "rocker", (0.115, 0, 0), link(5.0, 0.0, 2.212e-2))
    b.body("crank", "base", TURN, **link(1.5, 0.019, 7.258e-4))
    passive(b, "10", "base", (0.038, 0.410, 0), link(4.2, 0.1675, 0.157))
    passive(b, "11", "10", (0.096, 0, 0), link(3.0, 0.1195, 0.057))
    passive(b, "20", "10", (0.335, 0, 0), link(10.5, 0.4, 2.449))
    passive(b, "30", "20", (0.239, 0, 0), link(3.0, 0.1195, 0.057))
    b.loop("crank-coupler", "crank", "coupler", TURN, placement=(0.038, 0, 0), seat=(0.115, 0, 0))
    b.loop("coupler-11", "coupler", "11", TURN, placement=(-0.115, 0, 0), seat=(0.239, 0, 0))
    b.loop("coupler-30", "coupler", "30", TURN, placement=(-0.115, 0, 0), seat=(0.239, 0, 0))
    middle = np.array([-0.0255, np.sqrt(0.115**2 - 0.0635**2)])
    point = 2 * middle - [0.038, 0]
    down = point - [0.038, 0.410]
    reach = np.linalg.norm(down)
    first = np.arctan2(down[1], down[0]) - np.arccos((0.096**2 + reach**2 - 0.239**2) / (2 * 0.096 * reach))
    pin = np.array([0.038, 0.410]) + 0.096 * np.array([np.cos(first), np.sin(first)])
    second = np.arctan2(*(point - pin)[::-1]) - first
    rocker = np.arctan2(middle[1], 0.0635)
    coupler = np.arctan2(-middle[1], 0.0635) - rocker
    # the pantograph is a rhombus: links 20 and 11, 30 and 10 are parallel
    return b.build(), np.array([rocker, coupler, 0.0, first, second, second, np.pi - second])


TRIANGLE = ((0.0, 0.0), (1.0, 0.0), (0.5, np.sqrt(3) / 2))


def three_rrr(feet: Any = TRIANGLE) -> kt.Mechanism:
    """Shah section 8.5, table 8.3: the platform carried by leg 1, cuts at the feet of the other two legs' elbows."""
    b = kt.Builder("3-RRR", gravity=DOWN)
    b.body("a1", "base", TURN, position=(*feet[0], 0), **rod(0.4, 3.0))
    passive(b, "a2", "a1", (0.4, 0, 0), rod(0.6, 4.0))
    middle = (0.2, 0.2 / np.sqrt(3), 0)
    platform = {"mass": 8.0, "com": middle, "inertia": (0.08, 0.08, 0.16)}
    passive(b, "platform", "a2", (0.6, 0, 0), platform)
    passive(b, "b2", "platform", (0.4, 0, 0), rod(0.6, 4.0))
    passive(b, "c2", "platform", (0.2, 0.2 * np.sqrt(3), 0), rod(0.6, 4.0))
    b.body("b1", "base", TURN, position=(*feet[1], 0), **rod(0.4, 3.0))
    b.body("c1", "base", TURN, position=(*feet[2], 0), **rod(0.4, 3.0))
    b.loop("cut7", "b1", "b2", TURN, placement=(0.4, 0, 0), seat=(0.6, 0, 0))
    b.loop("cut8", "c1", "c2", TURN, placement=(0.4, 0, 0), seat=(0.6, 0, 0))
    b.frame("center", "platform", middle)
    return b.build()


THREE_RRR_START = np.deg2rad([60, -50, 215, 75, 228, 240, 330])
"""Table 8.4 (its fifth angle is measured from an axis turned by 60 degrees); closes to about 2 cm."""


def five_bar(ground: float = 1.0, redundant: bool = False, coupled: bool = False) -> kt.Mechanism:
    """Saha section 3.5; leg 2 stands at (ground, 0). The legs meet at the tip; coupled, a gear joins the cranks."""
    b = kt.Builder("five-bar", gravity=DOWN)
    b.body("a1", "base", TURN, **rod(0.6, 3.0))
    b.body("a2", "a1", TURN, position=(0.6, 0, 0), actuated=redundant, **rod(1.1, 1.6))
    b.body("b1", "base", TURN, position=(ground, 0, 0), **rod(0.7, 2.0))
    passive(b, "b2", "b1", (0.7, 0, 0), rod(1.2, 1.1))
    b.loop("tip-joint", "a2", "b2", TURN, placement=(1.1, 0, 0), seat=(1.2, 0, 0))
    b.frame("tip", "a2", (1.1, 0, 0))
    if coupled:
        b.coupling("gear", "b1_joint", "a1_joint", [3.0, -1.0])
    return b.build()


def five_bar_cut_at_the_ground() -> kt.Mechanism:
    """The same five-bar with leg 2 hanging from the tip, open at its foot; its actuator moves to the tip."""
    b = kt.Builder("five-bar", gravity=DOWN)
    b.body("a1", "base", TURN, **rod(0.6, 3.0))
    passive(b, "a2", "a1", (0.6, 0, 0), rod(1.1, 1.6))
    passive(b, "b2", "a2", (1.1, 0, 0), rod(1.2, 1.1, -0.6))
    b.body("b1", "b2", TURN, position=(-1.2, 0, 0), **rod(0.7, 2.0, -0.35))
    b.loop("foot", "b1", "base", TURN, placement=(-0.7, 0, 0), seat=(1, 0, 0))
    b.frame("tip", "a2", (1.1, 0, 0))
    return b.build()


def slider_under_the_tip() -> kt.Mechanism:
    """Three freedoms, all of one planar joint, which the leg from the ground to the tip's link passes backwards."""
    b = kt.Builder("planar slider", gravity=DOWN)
    passive(b, "a1", "base", (0, 0, 0), rod(0.6, 3.0))
    passive(b, "a2", "a1", (0.6, 0, 0), rod(1.1, 1.6))
    b.body("b1", "a2", kt.Planar(), position=(1.1, 0, 0), **rod(0.7, 2.0, -0.35))
    b.loop("foot", "b1", "base", TURN, placement=(-0.7, 0, 0), seat=(1, 0, 0))
    b.frame("tip", "a2", (1.1, 0, 0))
    return b.build()


def geared_five_bar() -> kt.Mechanism:
    """A five-bar whose second crank is geared to the first: one freedom."""
    b = kt.Builder("geared five-bar", gravity=DOWN)
    b.body("a1", "base", TURN, **rod(0.6, 3.0))
    passive(b, "a2", "a1", (0.6, 0, 0), rod(1.1, 1.6))
    b.body("b1", "base", TURN, position=(1, 0, 0), mimic=kt.Mimic("a1_joint", -1.0, 3.0), **rod(0.7, 2.0))
    passive(b, "b2", "b1", (0.7, 0, 0), rod(1.2, 1.1))
    b.loop("tip-joint", "a2", "b2", TURN, placement=(1.1, 0, 0), seat=(1.2, 0, 0))
    return b.build()


FIVE_BAR_START = np.array([2.0, -1.0, 1.0, 1.0])


def five_bar_folded(alpha: float = np.pi / 4, side: float = 1.0) -> np.ndarray:
    """Both distal links on one line: elbows 0.1 m apart, the tip beyond the first one."""
    a = 0.6 * np.array([np.cos(alpha), np.sin(alpha)])
    foot = np.array([1.0, 0.0])
    reach = np.linalg.norm(a - foot)
    corner = np.arccos((0.7**2 + reach**2 - 0.1**2) / (2 * 0.7 * reach))
    beta = np.arctan2(*(a - foot)[::-1]) + side * corner
    b = foot + 0.7 * np.array([np.cos(beta), np.sin(beta)])
    along = np.arctan2(*(a - b)[::-1])
    return np.array([alpha, along - alpha, beta, along - beta])


def stewart(foot: Any = None) -> kt.Mechanism:
    """Six legs U-P-S (or with other feet); the first carries the platform, the others are cut at their balls."""
    foot = kt.Universal("XY") if foot is None else foot
    b = kt.Builder("stewart")
    angles = np.deg2rad([-10, 10, 110, 130, 230, 250])
    feet = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    tops = np.deg2rad([-50, 50, 70, 170, 190, 290])
    heads = 0.5 * np.stack([np.cos(tops), np.sin(tops), 0 * tops], axis=1)
    for i in range(6):
        b.body(f"lower{i}", "base", foot, position=feet[i], actuated=False, mass=1.0,
               com=(0, 0, 0.3), inertia=(0.02, 0.02, 0.002))  # fmt: skip
        b.body(f"upper{i}", f"lower{i}", kt.Prismatic("z"), mass=0.5, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.001))
    b.body("platform", "upper0", kt.Spherical(), actuated=False, mass=5.0, com=tuple(-heads[0]),
           inertia=(0.3, 0.3, 0.5))  # fmt: skip
    for i in range(1, 6):
        b.loop(f"ball{i}", f"upper{i}", "platform", kt.Spherical(), seat=heads[i] - heads[0])
    b.frame("top", "platform", -heads[0])
    return b.build()


def stewart_at(mechanism: kt.Mechanism, pose: np.ndarray) -> np.ndarray:
    """Closed form: leg lengths and angles from the platform's pose."""
    q = mechanism.neutral()
    model = mechanism.model
    heads = [np.zeros(3)] + [np.array(loop.seat.position) for loop in model.loops]
    first = Rotation.identity()
    origin = pose[:3, 3] + pose[:3, :3] @ (heads[0] - np.array(model.frame("top").pose.position))
    for i in range(6):
        reach = origin + pose[:3, :3] @ heads[i] - np.array(model.joint(f"lower{i}_joint").placement.position)
        length = np.linalg.norm(reach)
        # Rot(x, a) Rot(y, b) z = (sin b, -sin a cos b, cos a cos b)
        angles = [np.arctan2(-reach[1], reach[2]), np.arcsin(reach[0] / length)]
        ball = model.joint(f"lower{i}_joint").nq == 4
        q[model.joint(f"lower{i}_joint").q_slice] = Rotation.from_euler("XY", angles).as_quat() if ball else angles
        first = Rotation.from_euler("XY", angles) if i == 0 else first
        q[model.joint(f"upper{i}_joint").q_slice] = length
    top = first.inv() * Rotation.from_matrix(pose[:3, :3])
    q[model.joint("platform_joint").q_slice] = top.as_quat()
    return q


def delta() -> kt.Mechanism:
    """Three legs R-U-U that keep the platform level (a delta robot with each parallelogram as one rod)."""
    b = kt.Builder("delta")
    arm = {"mass": 0.8, "com": (0.15, 0, 0), "inertia": (0.001, 0.006, 0.006)}
    fore = {"mass": 0.3, "com": (0.4, 0, 0), "inertia": (0.001, 0.016, 0.016)}
    for i, angle in enumerate(np.deg2rad([0, 120, 240])):
        turn = kt.Pose.of(rpy=(0, 0, angle))
        b.body(f"arm{i}", "base", kt.Revolute("y"), placement=turn @ kt.Pose.of((0.2, 0, 0)), **arm)
        b.body(f"rod{i}", f"arm{i}", kt.Universal("YZ"), position=(0.3, 0, 0), actuated=False, **fore)
        if i == 0:
            b.body("platform", "rod0", kt.Universal("ZY"), position=(0.8, 0, 0), actuated=False, mass=0.5,
                   com=(-0.05, 0, 0), inertia=(0.001, 0.001, 0.002))  # fmt: skip
        else:
            seat = kt.Pose.of((-0.05, 0, 0)) @ turn @ kt.Pose.of((0.05, 0, 0))
            b.loop(f"joint{i}", f"rod{i}", "platform", kt.Universal("ZY"), placement=(0.8, 0, 0), seat=seat)
    b.frame("center", "platform", (-0.05, 0, 0))
    return b.build()


def parallelogram_arm() -> kt.Mechanism:
    """An arm as the SR400 is built: a turntable, a parallelogram on it, a wrist (Khalil section 10.3)."""
    bend = kt.Revolute("y")
    link = {"mass": 3.0, "com": (0.2, 0.01, 0.03), "inertia": (0.01, 0.1, 0.1)}
    b = kt.Builder("parallelogram arm")
    b.body("turntable", "base", kt.Revolute("z"), mass=10, com=(0.1, 0, 0), inertia=(0.3, 0.3, 0.4))
    b.body("l2", "turntable", bend, position=(0.3, 0, 0), **link)
    b.body("l3", "l2", bend, position=(0.8, 0, 0), actuated=False, **link)
    b.body("l7", "turntable", bend, position=(0.3, 0, 0), **link)
    b.body("l8", "l7", bend, position=(0.4, 0, 0), actuated=False, **link)
    b.loop("cut", "l8", "l3", bend, placement=(0.8, 0, 0), seat=(0.4, 0, 0))
    b.body("wrist1", "l3", kt.Revolute("x"), position=(-0.5, 0, 0), **link)
    b.body("wrist2", "wrist1", kt.Revolute("z"), position=(-0.2, 0, 0), **link)
    return b.build()


def two_way_parallelogram(driven: tuple[str, ...] = ("rod0",)) -> kt.Mechanism:
    """Return a parallelogram that lies flat at zero, where it can also become an antiparallelogram."""
    b = kt.Builder("parallelogram", gravity=(0, -9.81, 0))
    b.body("rod0", "base", TURN, actuated="rod0" in driven, **rod(1.0, 1.0))
    b.body("rod1", "base", TURN, position=(2, 0, 0), actuated="rod1" in driven, **rod(1.0, 1.5))
    b.body("coupler", "rod0", TURN, position=(1, 0, 0), actuated=False, **rod(2.0, 2.0))
    b.loop("pin", "coupler", "rod1", TURN, placement=(2, 0, 0), seat=(1, 0, 0))
    return b.build()


def three_bars() -> kt.Mechanism:
    """A coupler on three parallel bars of which two would do: one constraint too many."""
    bar = rod(1.0, 2.0)
    b = kt.Builder("three bars", gravity=DOWN)
    b.body("bar0", "base", TURN, **bar)
    passive(b, "coupler", "bar0", (1, 0, 0), rod(2.0, 1.0))
    for i in (1, 2):
        passive(b, f"bar{i}", "base", (i, 0, 0), bar)
        b.loop(f"pin{i}", "coupler", f"bar{i}", TURN, placement=(i, 0, 0), seat=(1, 0, 0))
    return b.build()


def cells(count: int) -> kt.Mechanism:
    """Four-bars standing on one another's couplers, each with its own motor."""
    b = kt.Builder("cells", gravity=DOWN)
    ground, shift = "base", 0.0
    for i in range(count):
        b.body(f"crank{i}", ground, TURN, position=(shift, 0, 0), **rod(0.5, 1.0))
        passive(b, f"coupler{i}", f"crank{i}", (0.5, 0, 0), rod(1.0, 1.0))
        passive(b, f"rocker{i}", ground, (shift + 0.9, 0.1, 0), rod(0.7, 1.0))
        b.loop(f"pin{i}", f"coupler{i}", f"rocker{i}", TURN, placement=(1, 0, 0), seat=(0.7, 0, 0))
        ground, shift = f"coupler{i}", 0.1
    return b.build()


CELL_START = np.array([1.2, -1.1, 1.4])


def row_of_cranks() -> tuple[kt.Mechanism, np.ndarray]:
    """Four branches on the ground in a row, each pinned to the next, and an assembled configuration.

    Equations and unknowns: I 2 and 3, II 2 and 4, III 3 and 4, IV 1 and 3: only I, II and III together are determinate.
    """
    feet = np.array([[0.0, 0.0], [1.2, 0.0], [2.2, 0.0], [3.4, 0.0]])
    lengths, angles = [0.5, 0.8, 0.7, 0.5], [1.0, 1.4, 1.3, 1.2]
    tips = [f + n * np.array([np.cos(x), np.sin(x)]) for f, n, x in zip(feet, lengths, angles, strict=True)]
    knee = tips[2] + 0.6 * np.array([np.cos(0.6), np.sin(0.6)])

    def between(start: np.ndarray, end: np.ndarray) -> tuple[float, float]:
        reach = end - start
        return float(np.hypot(*reach)), float(np.arctan2(reach[1], reach[0]))

    (ab, th_ab), (bc, th_bc), (kd, th_kd) = between(tips[0], tips[1]), between(tips[1], tips[2]), between(knee, tips[3])
    b = kt.Builder("row of cranks", gravity=DOWN)
    b.body("a1", "base", TURN, **rod(0.5, 1.0))
    passive(b, "a2", "a1", (0.5, 0, 0), rod(ab, 1.0))
    passive(b, "b1", "base", (1.2, 0, 0), rod(0.8, 1.0))
    passive(b, "b2", "b1", (0.8, 0, 0), rod(bc, 1.0))
    passive(b, "c1", "base", (2.2, 0, 0), rod(0.7, 1.0))
    passive(b, "c2", "c1", (0.7, 0, 0), rod(0.6, 1.0))
    passive(b, "c3", "c2", (0.6, 0, 0), rod(kd, 1.0))
    b.body("d1", "base", TURN, position=(3.4, 0, 0), **rod(0.5, 1.0))
    b.loop("ab", "a2", "b1", TURN, placement=(ab, 0, 0), seat=(0.8, 0, 0))
    b.loop("bc", "b2", "c1", TURN, placement=(bc, 0, 0), seat=(0.7, 0, 0))
    b.loop("cd", "c3", "d1", TURN, placement=(kd, 0, 0), seat=(0.5, 0, 0))
    return b.build(), np.array([1.0, th_ab - 1.0, 1.4, th_bc - 1.4, 1.3, 0.6 - 1.3, th_kd - 0.6, 1.2])


def sweep(mechanism: kt.Mechanism, start: np.ndarray, joints: list[str], positions: np.ndarray) -> np.ndarray:
    """Configurations along a motion of some joints (T, len(joints)), each closed from the one before."""
    found, q = [], np.asarray(start, dtype=float)
    for row in positions:
        q = mechanism.close(q, dict(zip(joints, row, strict=True)))
        found.append(q)
    return np.array(found)


def compiled_system(name: str) -> tuple[kt.Robot, np.ndarray]:
    """Return a system of the gallery in machine code, and its start."""
    return kt.gallery.load(name).with_backend("compiled"), kt.gallery.start(name)


def lamp(damping=0.02):
    """Two arms; a plate between them stays upright by a coupling, and springs between points carry both."""
    b, up = kt.Builder("lamp"), kt.Revolute((0, -1, 0))
    rod = kt.MassProperties.rod
    b.body("lower", "base", up, actuated=False, damping=damping, mass_properties=rod(0.5, (0, 0, 0), (0.45, 0, 0)))
    b.body("plate", "lower", up, position=(0.45, 0, 0), actuated=False, mass=0.05, inertia=(1e-5, 1e-5, 1e-5))
    b.body("upper", "plate", up, actuated=False, damping=damping, mass_properties=rod(1.0, (0, 0, 0), (0.4, 0, 0)))
    b.coupling("upright", {"lower_joint": 1, "plate_joint": 1})
    b.tendon("spring", points=[("base", (0, 0, 0.1)), ("lower", (0.12, 0, 0))], stiffness=560.0, rest=0.02)
    b.tendon("second", points=[("plate", (0, 0, 0.08)), ("upper", (0.1, 0, 0))], stiffness=300.0, rest=0.03)
    return b.build()
