"""Fixtures: a classic group, and a cluster with a topic, both without a network."""

from __future__ import annotations

import pytest

from tests.reference_impl.conftest import InstantCluster
from tests.reference_impl.groups.classic import Group
from tests.reference_impl.groups.consumer_member import StartCluster


@pytest.fixture
def group(start_cluster: StartCluster) -> Group:
    return Group(start_cluster())


@pytest.fixture
def cluster(start_cluster: StartCluster) -> InstantCluster:
    cluster = start_cluster()
    cluster.create("t", 2)
    return cluster
