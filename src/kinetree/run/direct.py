"""Methods that are machine code: a built-in function in the place of a method, there from the first look-up on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import explains_arguments

M = TypeVar("M", bound=Callable[..., Any])


class DirectMethod(cached_property):  # type: ignore[type-arg]
    """A method whose plain form, arrays in and no options, is called without going through Python.

    Looked up on an object, it is a built-in function that the object's evaluator makes and the object keeps, as it
    keeps any :func:`functools.cached_property`; it goes to the method until there is machine code, so that a
    method kept before the first call is as fast as one looked up after it.  Looked up on the class, or by a
    subclass that has a method of that name and asks ``super()`` for this one, it is the method in Python.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        method = explains_arguments(method)
        super().__init__(lambda owner: owner.evaluator.plain_method(method.__name__, method.__get__(owner)))
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self.method
        if instance.evaluator.has_entries and getattr(type(instance), self.method.__name__) is self.method:
            return super().__get__(instance, owner)
        return self.method.__get__(instance, owner)  # or a subclass wants to be asked every time


if TYPE_CHECKING:

    def direct(method: M) -> M:
        """Let the plain form of a method be called without going through Python."""
        return method

else:
    direct = DirectMethod
