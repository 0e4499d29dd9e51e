"""What ``make demo`` shows: load a robot, look at it, compute, check; then let a machine walk."""

from pathlib import Path

import numpy as np

import kinetree as kt

HERE = Path(__file__).parent


def heading(text: str) -> None:
    print(f"\n--- {text} ---")


def main() -> None:
    np.set_printoptions(precision=5, suppress=True, linewidth=110)
    robot = kt.load(HERE / "kuka_kr5.urdf")
    heading("The robot")
    print(robot.describe())

    heading("One state")
    rng = np.random.default_rng(7)
    q = robot.random_configuration(rng)
    v, a = rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    tau = robot.inverse_dynamics(q, v, a)
    print("q                      ", q)
    print("torques for a motion   ", tau)
    print("torques to hold still  ", robot.gravity_force(q))
    print("accelerations, no drive", robot.forward_dynamics(q, v, np.zeros(robot.nv)))
    print("mass matrix")
    print(robot.mass_matrix(q))
    print("tool position          ", robot.pose(q, "link_6")[:3, 3])

    heading("A batch of 2,000 states, and every way of forward dynamics against inverse dynamics")
    q = robot.random_configuration(rng, 2000)
    v, a = rng.standard_normal((2, 2000, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    worst = 0.0
    for method in ("articulated_body", "composite_body", "udu", "walker_orin_1", "walker_orin_2", "walker_orin_4"):
        error = np.abs(robot.forward_dynamics(q, v, tau, method=method) - a).max() / np.abs(a).max()
        worst = max(worst, error)
        print(f"{method:18s} largest relative error {error:.1e}")

    heading("The same arm floating freely, pushed at its tool")
    free = kt.load(HERE / "kuka_kr5.urdf", floating_base=True).with_gravity((0, 0, 0))
    q, v = free.neutral(), np.zeros(free.nv)
    push = {"link_6": kt.Wrench(force=(10, 0, 0), axes="world")}
    a = free.forward_dynamics(q, v, np.zeros(free.nv), push)
    rate = free.momentum_rate(q, v, a)
    print("rate of linear momentum (must be the push):", rate[3:])
    if worst > 1e-9 or not np.allclose(rate[3:], (10, 0, 0)):
        raise SystemExit("the checks do not agree")
    walk()
    print("\nAll agree.")


def walk() -> None:
    """The quadruped of 000 takes a step under computed-torque control, on compliant ground."""
    heading("The quadruped of 000, chapter 9, walks")
    study = kt.gallery.study("quadruped")
    result = study.run(["computed-torque"], quick=True)
    for fact in result.facts:
        print(fact)
    folder = result.write(Path("demo-output") / "quadruped")
    pictures = sorted(folder.glob("*.png"))
    print("\nIts pictures, data and summary:", folder.resolve())
    for picture in pictures:
        print("  ", picture.name)
    if result.faults or not pictures:
        raise SystemExit("the walk is not what the source says")


if __name__ == "__main__":
    main()
