"""One file per study or family of studies, each with ``STUDY`` or ``STUDIES``; found by looking into this folder."""
