"""Planar linkages as they are drawn in their files: joint coordinates from where their points are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kinetree.model.linkages.drawing import GROUND, Drawing, drawing_of
from kinetree.model.tree import Model
from kinetree.spatial.scalar import Scalar
from kinetree.studies.named_systems import load

from .planar_geometry import Point, near

Places = Mapping[str, Point]


@dataclass(frozen=True)
class DrawnLinkage:
    """A linkage of the gallery whose points are known in closed form for every angle of its crank.

    Attributes
    ----------
    name : str
        Name of the system, whose file has a drawing.
    crank : str
        The bar that is driven through any number of turns; all others stay within half a turn of the drawing.
    places : callable
        Returns the positions of all points, given the crank's angle relative to the drawing.
    """

    name: str
    crank: str
    places: Callable[[Scalar], Places]

    @cached_property
    def model(self) -> Model:
        """The mechanism."""
        return load(self.name).model

    @cached_property
    def drawing(self) -> Drawing:
        """The drawing in its file."""
        found = drawing_of(self.model)
        assert found is not None
        return found

    def __call__(self, turned: Scalar) -> list[Scalar]:
        """Return all joint coordinates, which are zero in the drawing."""
        at = self.places(turned)
        turns: dict[str, Scalar] = dict.fromkeys([GROUND, *self.drawing.bodies], 0.0)
        turns |= {bar: self._turn(bar, at) for bar in self.drawing.bars} | {self.crank: turned}
        drawn, found = {joint.name: joint for joint in self.drawing.joints}, list[Scalar]()
        for joint in self.model.joints:
            _, point, parent, child, slides = drawn[joint.name]
            if slides:  # on the ground
                moved, (x, y, _) = at[point].minus(Point(*self.drawing.drawn[point])), joint.placement.rotation[:, 0]
                found.append(x * moved.x + y * moved.y)
            else:
                found.append(turns[child] - turns[parent])
        return found

    def _turn(self, bar: str, at: Places) -> Scalar:
        """Return the rotation of a bar, from the vector between two of its points."""
        first, second = self.drawing.bars[bar].points[:2]
        drawn = Point(*self.drawing.drawn[second]).minus(Point(*self.drawing.drawn[first]))
        return near(at[second].minus(at[first]).angle - drawn.angle, 0.0)
