"""The systems of the gallery, a folder each: ``model.yaml``, ``system.py`` (origin, assembly, motion) and ``study.py``.

Files next to the folders are shared by several systems.  :mod:`kinetree.studies.named_systems` finds them by name.
"""
