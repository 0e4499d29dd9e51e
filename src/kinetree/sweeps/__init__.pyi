from kinetree_sweeps.designs import Design as Design
from kinetree_sweeps.designs import DrawnDesign as DrawnDesign
from kinetree_sweeps.designs import GridDesign as GridDesign
from kinetree_sweeps.designs import TableDesign as TableDesign
from kinetree_sweeps.function_study import SweepStudy as SweepStudy
from kinetree_sweeps.motion_tables.dynamics_by_rows import TableDone as TableDone
from kinetree_sweeps.motion_tables.dynamics_by_rows import over_table as over_table
from kinetree_sweeps.result import SweepResult as SweepResult
from kinetree_sweeps.running import run as run
from kinetree_sweeps.studies import Forces as Forces
from kinetree_sweeps.studies import Simulations as Simulations
from kinetree_sweeps.study_file import SweepFile as SweepFile
from kinetree_sweeps.study_file import gallery_forces as gallery_forces
from kinetree_sweeps.study_file import read_sweep as read_sweep

from ..studies.measures import MovedBatch as MovedBatch
from ..studies.measures import measures as measures
