"""From equations to motion: integrators, controllers, ground, trajectories, energy, records."""

from . import contact, control, ground, impact, legs, stops, trajectories, walking
from .energy import Energies
from .events import Event, Occurrence
from .integrators import INTEGRATORS
from .inverse_kinematics import inverse_kinematics
from .record import Record
from .rigid import simulate_rigid
from .simulate import Simulator, simulate

__all__ = [
    "INTEGRATORS", "Energies", "Event", "Occurrence", "Record", "Simulator", "contact", "control", "ground", "impact",
    "inverse_kinematics", "legs", "simulate", "simulate_rigid", "stops", "trajectories", "walking",
]  # fmt: skip
