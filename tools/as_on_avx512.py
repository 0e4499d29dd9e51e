r"""A plugin for pytest: code of the form that AVX-512 has, run on a processor with AVX2.

    PYTHONPATH=src:gallery:programs:studio:learning:optimize:design:sweeps:tools \
        python -m pytest -p as_on_avx512 tests/engine tests/evaluation/test_on_any*

Values have eight lanes, for which LLVM takes two registers; parts of vectors are loaded and stored by masks; kernels
send results on while they compute.  That is slow, but the numbers must be right.
"""

import os

from kinetree.engine.llvm import host

os.environ["KINETREE_CACHE"] = "off"  # which may hold code of the usual form
usual = host._machine


def as_on_avx512(cpu, features, has, version):
    """The same processor with vectors twice as long."""
    found = usual(cpu, features, has, version)
    if found.lanes != 4:
        return found
    # LLVM clears the upper halves of registers that the sender's calling convention keeps, but for those of AVX-512
    kept = f"{features},-vzeroupper".lstrip(",")
    return host.Machine(cpu, kept, 8, version, fused=found.fused, masks=True)


host._machine = as_on_avx512
host._target.cache_clear()
