"""kinetree: the dynamics of robots and mechanisms, for one state or a million."""

from . import former_names
from .lazy_names import LazyNames
from .version import VERSION

__version__ = VERSION

former_names.install()


def _meant(name: str) -> str | None:
    """Return the kinetree name for a name known from another library."""
    from .robot.names_elsewhere import function_called

    here = function_called(name)
    return f"here it is {here}" if here else None


_NAMES = LazyNames(
    __name__,
    modules={
        "costs": "kinetree_books.cost_formulas",
        "errors": ".errors",
        "published": "kinetree_books.published_counts",
        "view": ".view",
    },
    former={
        "codegen": "kinetree.c_code",
        "cost": "kinetree.costs",
        "legs": "kinetree.walking",
        "stops": "kinetree.forces",
    },
    otherwise=_meant,
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
