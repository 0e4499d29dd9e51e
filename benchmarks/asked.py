"""What is asked for, by robot and by what code is made for; and saying what that is."""

from __future__ import annotations

import os
import platform

from kinetree.engine.llvm import host

ROBOTS = ("UR5", "Panda", "ANYmal (floating)", "Talos (floating)")

ASKED: dict[str, dict[str, tuple[float, ...]]] = {
    "AVX-512": {
        "inverse_dynamics": (30, 30, 20, 20),
        "forward_dynamics": (30, 30, 20, 20),
        "mass_matrix": (15, 15, 15, 15),
        "inverse_dynamics_derivatives": (10, 10, 10, 10),
        "forward_dynamics_derivatives": (10, 10, 10, 10),
        "simulation": (40,),
    },
    "AVX2": {
        "inverse_dynamics": (30, 27, 22, 18),
        "forward_dynamics": (35, 28, 22, 20),
        "mass_matrix": (40, 25, 12, 8),
        "inverse_dynamics_derivatives": (45, 22, 13, 8),
        "forward_dynamics_derivatives": (40, 18, 12, 8),
        "simulation": (30,),
    },
    "two lanes": {"inverse_dynamics": (12, 12, 12, 12), "forward_dynamics": (12, 12, 12, 12)},
}
"""Times Pinocchio, in the order of the robots; of simulation, times MuJoCo."""


def vectors() -> str:
    """The kind of vectors that code is made for."""
    made_for = host.host()
    return "AVX-512" if made_for.masks else "AVX2" if made_for.lanes == 4 else "two lanes"


def asked(what: str, robot: str = ROBOTS[0]) -> str:
    """The ratio that is asked for."""
    figures = ASKED[vectors()].get(what)
    return f"{figures[ROBOTS.index(robot)]:g}x" if figures else ""


def made_for() -> str:
    """What code is made for, on what."""
    target = host.host()
    fused = "" if target.fused else ", nothing fused"
    name = os.environ.get("KINETREE_CPU") or "native"
    own = host.binding().get_host_cpu_name()
    return (
        f"Code made for {name} ({target.cpu}: {target.lanes} doubles per vector{fused}), "
        f"on {own} ({platform.machine()}), {os.cpu_count()} processors"
    )
