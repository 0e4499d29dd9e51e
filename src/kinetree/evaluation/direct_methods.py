"""Methods as machine code: from the first lookup on, a built-in function replaces the method."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import explains_arguments

M = TypeVar("M", bound=Callable[..., Any])


class DirectMethod(cached_property):  # type: ignore[type-arg]
    """A method whose plain form, arrays in and no options, is called without going through Python.

    When it is looked up on an object, it is a built-in function that the object's evaluator makes and the object keeps,
    like a :func:`functools.cached_property`. This function calls the method until there is machine code, so a reference
    that was taken before the first call is as fast as one taken later. When it is looked up on the class, or via
    ``super()`` by a subclass that overrides the method, it is the method in Python.
    """

    def __init__(self, method: Callable[..., Any], asks_loops: bool = False) -> None:
        method = explains_arguments(method)

        def plain(owner: Any) -> Callable[..., Any]:
            bound = method.__get__(owner)
            if asks_loops and owner.loops is not None:
                return owner.loops.plain_method(method.__name__, bound)
            return owner.evaluator.plain_method(method.__name__, bound)

        super().__init__(plain)
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self.method
        if instance.evaluator.has_entries and getattr(type(instance), self.method.__name__) is self.method:
            return super().__get__(instance, owner)
        return self.method.__get__(instance, owner)  # or a subclass overrides it


if TYPE_CHECKING:

    def direct(method: M) -> M:
        """Let the plain form of a method be called without going through Python."""
        return method

    def direct_or_by_loops(method: M) -> M:
        """Do the same for trees; with closed loops the result differs, and the loops compute it."""
        return method

else:
    direct = DirectMethod
    direct_or_by_loops = partial(DirectMethod, asks_loops=True)
