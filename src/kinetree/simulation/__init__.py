"""From equations to motion: the equation of motion, integrators, events, energy, records."""

from typing import TYPE_CHECKING

from ..lazy_names import LazyNames

if TYPE_CHECKING:
    from .events import Event as Event
    from .events import Occurrence as Occurrence
    from .integrators.fixed_step_methods import INTEGRATORS as INTEGRATORS
    from .prescribed import Prescribed as Prescribed
    from .records.energy import Energies as Energies
    from .records.record import Record as Record
    from .rigid_run import simulate_rigid as simulate_rigid
    from .simulator import Simulator as Simulator
    from .simulator import simulate as simulate
    from .simulator import simulate_prescribed as simulate_prescribed

_NAMES = LazyNames(
    __name__,
    {
        ".events": ("Event", "Occurrence"),
        ".integrators.fixed_step_methods": ("INTEGRATORS",),
        ".prescribed": ("Prescribed",),
        ".records.energy": ("Energies",),
        ".records.record": ("Record",),
        ".rigid_run": ("simulate_rigid",),
        ".simulator": ("Simulator", "simulate", "simulate_prescribed"),
    },
    former={
        "contact": "kinetree.contact",
        "control": "kinetree.control",
        "ground": "kinetree.ground",
        "impact": "kinetree.impact",
        "inverse_kinematics": "kinetree.inverse_kinematics",
        "legs": "kinetree.legs",
        "stops": "kinetree.stops",
        "trajectories": "kinetree.trajectories",
        "walking": "kinetree.walking",
    },
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
