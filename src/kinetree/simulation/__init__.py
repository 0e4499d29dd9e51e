"""From equations to motion: the equation of motion, integrators, events, energy, records."""

from typing import TYPE_CHECKING

from .. import contact, control
from ..contact import ground, impact, stops
from ..motion import trajectories, walking
from ..motion.inverse_kinematics import inverse_kinematics
from ..motion.walking import legs
from .events import Event, Occurrence
from .integrators.fixed_step_methods import INTEGRATORS
from .prescribed import Prescribed
from .records.energy import Energies
from .records.record import Record
from .simulate import Simulator, simulate, simulate_prescribed

if TYPE_CHECKING:
    from .rigid_run import simulate_rigid

__all__ = [
    "INTEGRATORS", "Energies", "Event", "Occurrence", "Prescribed", "Record", "Simulator", "contact", "control",
    "ground", "impact", "inverse_kinematics", "legs", "simulate", "simulate_prescribed", "simulate_rigid", "stops",
    "trajectories", "walking",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import rigid contact when it is asked for: it brings SciPy's integrators with it."""
    if name == "simulate_rigid":
        from .rigid_run import simulate_rigid

        return simulate_rigid
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what is meant for users."""
    return sorted(__all__)
