"""``kinetree.load``: where robots are found."""

from __future__ import annotations

import pytest

import kinetree as kt


def test_the_gallery_has_its_own_door(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("four-bar", "fourbar"):
        with pytest.raises(kt.RobotFileNotFoundError, match=rf"no robot file '{name}'.*gallery\.load\('four-bar'\)"):
            kt.load(name)
    for name in ("four-bar.urdf", "nothing", "models/four-bar"):
        with pytest.raises(kt.RobotFileNotFoundError) as caught:
            kt.load(name)
        assert "gallery" not in str(caught.value)
