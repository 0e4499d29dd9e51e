"""From equations to motion: integrators, controllers, ground, trajectories, energy, records."""

from .energy import Energies
from .events import Event, Occurrence
from .integrators import INTEGRATORS
from .record import Record
from .simulate import Simulator, simulate

__all__ = ["INTEGRATORS", "Energies", "Event", "Occurrence", "Record", "Simulator", "simulate"]
