"""The part of the builder that puts shapes on bodies and on the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from ..errors import ModelError, refuse_unknown
from .pose import Pose

if TYPE_CHECKING:
    from .shapes.contact_shape import ContactShape
    from .shapes.solid import Solid


class ShapeBuilder:
    """Collects shapes, and which of them may touch."""

    def __init__(self) -> None:
        self._shapes: list[ContactShape] = []
        self._kept_apart: list[tuple[str, str]] = []
        self._let_touch: list[tuple[str, str]] = []

    def shape(
        self, body: str, shape: Solid, position: Sequence[float] = (0.0, 0.0, 0.0), *, rpy: Sequence[float] | None =
        None, rotation: Any = None, pose: Pose | None = None, name: str = "", group: int = 1, mask: int = 1, margin:
        float = 0.0, friction: float = 1.0, torsional_friction: float = 0.0, rolling_friction: float = 0.0,
        restitution: float = 0.0,
    ) -> Self:  # fmt: skip
        """Put a shape on a body, a frame or the base; returns the builder, so calls can be chained.

        Parameters
        ----------
        body : str
            Body or frame that carries it; the base, for ground and things that do not move.
        shape : Solid
            Such as ``kinetree.shapes.Box((0.1, 0.2, 0.3))``.
        position, rpy, rotation, pose
            Pose of the shape on the body.
        name : str
            By default that of the body, with a number if it has several shapes.
        group, mask : int
            Two shapes may touch if the group of one has a bit in common with the mask of the other.
        margin : float
            Distance in meters from which a contact is known before there is any force.
        friction, torsional_friction, rolling_friction, restitution : float
            See :class:`kinetree.shapes.ContactShape`.

        Examples
        --------
        >>> import kinetree as kt
        >>> b = kt.Builder("block").shape("base", kt.shapes.HalfSpace())
        >>> b = b.body("block", "base", kt.Free(), mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
        >>> robot = b.shape("block", kt.shapes.Box((0.1, 0.1, 0.1)), friction=0.8).build()
        >>> [shape.name for shape in robot.shapes]
        ['base', 'block']
        """
        from .shapes.contact_shape import ContactShape

        try:
            place = pose or Pose.of(position, rpy=rpy, rotation=rotation)
        except ModelError as problem:
            raise ModelError(f"the shape {name or f'on {body!r}'}: {problem}") from None
        self.add_shape(
            ContactShape(
                body, shape, place, name, group, mask, margin, friction, torsional_friction, rolling_friction,
                restitution,
            )
        )  # fmt: skip
        return self

    def add_shape(self, shape: ContactShape) -> None:
        """Keep a shape of a body or of the world."""
        if shape.name and any(shape.name == other.name for other in self._shapes):
            raise ModelError(f"two shapes are named {shape.name!r}")
        self._shapes.append(shape)

    def exclude_contact(self, first: str, second: str) -> Self:
        """Keep two shapes, or all shapes of two bodies, from ever touching; returns the builder.

        Shapes of bodies that a joint connects do not touch anyway.
        """
        self._kept_apart.append((first, second))
        return self

    def allow_contact(self, first: str, second: str) -> Self:
        """Let two shapes, or all shapes of two bodies, touch although a joint connects them or their masks differ."""
        self._let_touch.append((first, second))
        return self

    def _finished_shapes(self, frames: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the model that hold shapes; their frames must be known."""
        if not (self._shapes or self._kept_apart or self._let_touch):
            return {}
        from .shapes.pairs import check_pair, with_names

        for shape in self._shapes:
            refuse_unknown(f"body or frame (of shape {shape.name or shape.kind!r})", shape.frame, frames)
        shapes = with_names(self._shapes)
        apart = tuple(check_pair(shapes, pair, frames, "an excluded contact") for pair in self._kept_apart)
        touch = tuple(check_pair(shapes, pair, frames, "an allowed contact") for pair in self._let_touch)
        return {"shapes": shapes, "contact_exclusions": apart, "contact_inclusions": touch}
