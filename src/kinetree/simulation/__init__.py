"""From equations to motion: the equation of motion, integrators, events, energy, records."""

from ..lazy_names import LazyNames

_OF_KINETREE = (
    "Event", "Prescribed", "Record", "Simulator", "contact", "control", "ground", "impact", "inverse_kinematics",
    "simulate", "simulate_prescribed", "simulate_rigid", "trajectories", "walking",
)  # fmt: skip
_NAMES = LazyNames(
    __name__,
    former={name: f"kinetree.{name}" for name in _OF_KINETREE}
    | {"legs": "kinetree.walking", "stops": "kinetree.forces"},
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
