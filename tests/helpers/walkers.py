"""The walking machines of the gallery under the names of the sources' ground data."""

from __future__ import annotations

from kinetree.gallery.trees import legged

planar_biped = legged.biped_planar
spatial_biped = legged.biped_spatial

WALKERS = {
    "planar-biped": legged.biped_planar,
    "spatial-biped": legged.biped_spatial,
    "quadruped": legged.quadruped,
    "hexapod": legged.hexapod,
    "unified-biped": legged.biped_unified,
}
"""All five, by name."""
