"""Design of mechanisms: properties of linkages, cams, and the search for dimensions: :mod:`kinetree.design`."""
