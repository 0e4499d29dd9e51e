"""Environments for reinforcement learning: worlds as Gymnasium environments, one or thousands at a time.

The environments themselves are in a package above kinetree, ``kinetree_learning``.

Examples
--------
>>> import kinetree as kt
>>> environments = kt.gym.make_vec("cart-pole", num_envs=8)
>>> observations, infos = environments.reset(seed=1)
>>> observations.shape
(8, 5)
"""

from importlib.util import find_spec

from ..errors import OptionError
from ..io.packages_above import module_above
from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__dir__ = _NAMES.dir

if find_spec("gymnasium") is not None:  # its names of our environments, for gymnasium.make
    module_above("kinetree_learning.environments.registration").register_environments()


def __getattr__(name: str) -> object:
    """Import a public name, and Gymnasium with it."""
    try:
        return _NAMES.get(name)
    except ModuleNotFoundError as problem:
        if problem.name != "gymnasium":
            raise
        raise OptionError("kinetree.gym needs the package gymnasium: pip install 'kinetree[gym]'") from None
