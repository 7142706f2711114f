"""A fixture with a classic group on a cluster without a network."""

from __future__ import annotations

import pytest

from tests.reference_impl.groups.classic import Group, StartCluster


@pytest.fixture
def group(start_cluster: StartCluster) -> Group:
    return Group(start_cluster())
