from .events import Occurrence as Occurrence
from .integrators.fixed_step_methods import INTEGRATORS as INTEGRATORS
from .records.energy_balance import Energies as Energies
