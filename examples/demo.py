"""What ``make demo`` shows: load a robot, look at it, compute, check; then let a machine walk."""

import webbrowser
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree_studio.view.show import has_screen

HERE = Path(__file__).parent
OUTPUT = Path("demo-output")


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
    print("\nAll numbers agree.")
    change()


def walk() -> None:
    """The quadruped of Shah takes a step under computed-torque control, on compliant ground."""
    heading("The quadruped of Shah, chapter 9, walks")
    result = kt.gallery.study("quadruped").run(["computed-torque"], quick=True)
    for fact in result.facts:
        print(fact)
    folder = result.write(OUTPUT / "quadruped")
    pictures = sorted(folder.glob("*.png"))
    print("\nIts plots, data and summary:", folder.resolve())
    if result.faults or not pictures:
        raise SystemExit("the walk is not what the source says")
    show(result.outcomes["computed-torque"].records["record"])


def change() -> None:
    """Write a page in which a mechanism is changed, dragged and let go, without Python."""
    heading("To change it yourself")
    made = kt.page("four-bar", OUTPUT / "four-bar.html")
    size = made.sizes["page"] // 1000
    print(f"A four-bar whose lengths and masses you change while it turns, in one file of {size} kB:")
    print((OUTPUT / "four-bar.html").resolve().as_uri())


def show(record: kt.Record) -> None:
    """Write the walk as a page that opens in any browser, and as a picture where Chromium is there to draw it."""
    heading("To see it")
    page, picture = OUTPUT / "walk.html", OUTPUT / "walk.png"
    with kt.view(
        "quadruped", record, port=0, trails=["front_right_tip", "rear_left_tip"], view=(0.75, -1.0, 0.45)
    ) as viewer:
        viewer.recording(page)
        try:
            viewer.seek(0.75)
            viewer.screenshot(picture, size=(1280, 800))
        except kt.OptionError as problem:  # no Chromium
            print(f"(no picture: {problem})")
    strides = np.linalg.norm(record.contact_forces, axis=-1) > 1.0
    for foot, (frame, _) in enumerate(record.info["contact_spots"]):
        steps = "".join("█" if down else "·" for down in strides[:: max(1, len(record) // 60), foot])
        print(f"{frame:>18} {steps}  on the ground {100 * strides[:, foot].mean():.0f} % of the time")
    print(f"\nOpen {page.resolve()} in any browser: the walk with its forces, energy and curves of every joint.")
    if picture.exists():
        print(f"A picture of it: {picture.resolve()}")
    if has_screen():
        webbrowser.open(page.resolve().as_uri())


if __name__ == "__main__":
    main()
