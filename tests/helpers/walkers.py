"""The walking machines of the gallery under the names of the sources' ground data."""

from __future__ import annotations

from kinetree_gallery.systems.biped_planar.system import machine as planar_biped
from kinetree_gallery.systems.biped_spatial.system import machine as spatial_biped
from kinetree_gallery.systems.biped_unified.system import machine as unified_biped
from kinetree_gallery.systems.hexapod.system import machine as hexapod
from kinetree_gallery.systems.quadruped.system import machine as quadruped

WALKERS = {
    "planar-biped": planar_biped,
    "spatial-biped": spatial_biped,
    "quadruped": quadruped,
    "hexapod": hexapod,
    "unified-biped": unified_biped,
}
"""All five, by name."""
