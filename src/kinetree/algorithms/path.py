"""One path of a tree, from one body outward to another: all that the motion of a frame depends on."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from ..model.tree import BASE, Link, Model


class Path:
    """Bodies that carry one another, as a tree that :mod:`.passes` can walk; their indices in ``q`` and ``v`` are kept.

    Parameters
    ----------
    tree : Model
    body : int
        The last body of the path.
    above : int
        The body before the first one, the base by default.
    """

    def __init__(self, tree: Model, body: int, above: int = BASE) -> None:
        bodies = tree.support(body)
        self.places = bodies[bodies.index(above) + 1 :] if above != BASE else bodies
        """Indices of the path's bodies in the tree."""
        self.nq, self.nv, self.gravity, self.has_followers = tree.nq, tree.nv, tree.gravity, tree.has_followers
        self.frame = tree.frame
        self.links: tuple[Link, ...] = tuple(
            replace(tree.links[i], index=k, parent=k - 1 if k else BASE) for k, i in enumerate(self.places)
        )
        self.bodies = [tree.bodies[i] for i in self.places]

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The parent of each body."""
        return tuple(link.parent for link in self.links)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each body."""
        return tuple((k + 1,) if k + 1 < len(self.links) else () for k in range(len(self.links)))

    @property
    def roots(self) -> tuple[int, ...]:
        """The first body."""
        return (0,) if self.links else ()
