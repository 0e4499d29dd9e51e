"""What tests of pages share."""

import pytest

from kinetree_studio.view.browser import Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One browser for all tests of a file: starting it is what takes long."""
    blank = tmp_path_factory.mktemp("page") / "blank.html"
    blank.write_text("<!doctype html>")
    made = Browser(blank.as_uri(), (1280, 800))
    yield made
    made.close()
