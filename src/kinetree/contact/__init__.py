"""Contact: surfaces, compliant ground, rigid contact with friction, impact, joint stops."""

from ..lazy_names import LazyNames

_SURFACES = ("Ball", "Grid", "HeightField", "Plane", "Spot")
_NAMES = LazyNames(
    __name__,
    former={"Mobility": "kinetree.contact.ForceResponse"} | {name: f"kinetree.ground.{name}" for name in _SURFACES},
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
