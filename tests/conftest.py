"""Settings for all tests."""

import os
import tempfile

# Most tests judge the algorithms themselves and make hundreds of small robots, for each of which
# compiling would cost more than computing. What is compiled is compared with this in test_compiled.py.
os.environ.setdefault("KINETREE_BACKEND", "reference")
os.environ.setdefault("KINETREE_CACHE", os.path.join(tempfile.gettempdir(), "kinetree-test-cache"))

from hypothesis import settings

settings.register_profile("kinetree", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("kinetree")
