"""The order of a graph's operations: values are used soon after they are made, where that leaves far fewer waiting.

A recursion is traced pass by pass, over all bodies or all loops each time, so that every pass waits in memory for the
next one.  Where loops share joints with their neighbors only, all passes over one loop can be computed before the next
loop: the same operations on the same operands, with the same results to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from .graph import Graph

FEWEST_WAITING = 100
"""Values waiting on average from which another order is tried: fewer fit into registers and the nearest cache."""

SMALLEST_PART = 0.08
"""The same as a fraction of all operations: where fewer wait, no other order was found to be much better."""

LARGEST_SHARE = 0.75
"""How much of that average must be left for the other order to be used."""

SMALL = 20, 1
"""Operations on inputs alone, up to which a value is made when something else needs it, and not before: both are tried.
With more, loops in a row are computed one after another; with fewer, trees."""

AT_FIRST = 9
"""Rank of operations that continue nothing: any that continues something comes before, whatever it leaves waiting."""


def with_short_waits(graph: Graph, outputs: Sequence[int]) -> tuple[Graph, list[int]]:
    """Return the graph in another order of operations if far fewer values wait in that one, otherwise as it is."""
    usual = [i for i in graph.reachable(outputs) if graph.args[i]]
    waiting = _waiting(graph, usual)
    if waiting < max(FEWEST_WAITING, SMALLEST_PART * len(usual)) * len(usual):
        return graph, list(outputs)
    order, limit = None, LARGEST_SHARE * waiting
    for small in SMALL:
        found = _OrderOfOperations(graph, usual, small)
        if found.is_made_within(limit):
            order, limit = found.made, found.waited
    if order is None:
        return graph, list(outputs)
    new, place = Graph(tables=graph.tables), dict[int, int]()
    for i in [*(i for i in graph.reachable(outputs) if not graph.args[i]), *order]:
        place[i] = new.copied(graph, i, place)
    new.in_short_waits = True
    return new, [place[o] for o in outputs]


def _waiting(graph: Graph, order: Sequence[int]) -> int:
    """Return for how many operations values wait until their last use, all together."""
    made = {i: k for k, i in enumerate(order)}
    last = dict(made)
    for i, k in made.items():
        for a in graph.args[i]:
            if a in last:
                last[a] = k
    return sum(last.values()) - sum(made.values())


class _OrderOfOperations:
    """The choice of the next operation: one that uses values up before one that adds to those waiting.

    Among equals, the one that uses the newest value comes first.  Few operations on inputs alone are done when
    something else needs them.

    graph, usual: The operations, in an order in which each comes after its operands.
    small: Operations on inputs alone, up to which a value is only made when needed.

    Attributes
    ----------
    made : dict
        The operations in their order, with their places.
    waited : int
        For how many operations values wait, all together.
    """

    def __init__(self, graph: Graph, usual: Sequence[int], small: int) -> None:
        some = set(usual)
        self.operands = {i: [a for a in dict.fromkeys(graph.args[i]) if a in some] for i in usual}
        self.users: dict[int, list[int]] = {i: [] for i in usual}
        size: dict[int, int] = {}
        for i, own in self.operands.items():
            size[i] = 1 + sum(size[a] for a in own)
            for a in own:
                self.users[a].append(i)
        self.small = {i for i, count in size.items() if count <= small and self.users[i]}
        self.unused = {i: len(users) for i, users in self.users.items()}
        self.missing = {i: sum(a not in self.small for a in own) for i, own in self.operands.items()}
        self.made: dict[int, int] = {}
        self.living = self.waited = 0

    def _rank(self, i: int) -> tuple[int, int, int]:
        more, newest = int(bool(self.users[i])), -1
        for a in self.operands[i]:
            if a in self.made:
                more -= self.unused[a] == 1
                newest = max(newest, self.made[a])
            else:
                more += self.unused[a] > 1
        return (more, -newest, i) if newest >= 0 else (AT_FIRST, 0, i)

    def is_made_within(self, limit: float) -> bool:
        """Make the order; give up if values wait for more operations than ``limit``, all together."""
        ready = [self._rank(i) for i, n in self.missing.items() if n == 0 and i not in self.small]
        heapify(ready)
        while ready:
            rank = heappop(ready)
            i = rank[2]
            if i in self.made:
                continue
            now = self._rank(i)
            if now > rank:
                heappush(ready, now)
                continue
            for user in dict.fromkeys(self._make(i)):
                if self.missing[user] == 0 and user not in self.made and user not in self.small:
                    heappush(ready, self._rank(user))
            if self.waited > limit:
                return False
        return True

    def _make(self, i: int) -> list[int]:
        """Do an operation, after the small ones that it needs; return those whose rank may be another now."""
        changed = [user for a in self.operands[i] if a not in self.made for user in self._make(a)]
        self.made[i] = len(self.made)
        self.living += bool(self.users[i])
        self.waited += self.living
        changed += self.users[i]
        if i not in self.small:
            for user in self.users[i]:
                self.missing[user] -= 1
        for a in self.operands[i]:
            self.unused[a] -= 1
            self.living -= self.unused[a] == 0
            if self.unused[a] == 1:
                changed += self.users[a]
        return changed
