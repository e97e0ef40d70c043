"""Matching the groups of two runs."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.models.align import matching


def test_align_undoes_a_permutation():
    rng = np.random.default_rng(0)
    a = rng.dirichlet(np.full(6, 0.2), 200)
    order = rng.permutation(6)
    np.testing.assert_array_equal(ct.align(a, a[:, order]), a)
    labels = a.argmax(axis=1)
    renamed = np.argsort(order)[labels]
    np.testing.assert_array_equal(ct.align(labels, renamed), labels)


def test_align_with_more_groups():
    a = np.array([0, 0, 1, 1])
    b = np.array([2, 2, 0, 1])
    assert sorted(matching(a, b).tolist()) == [0, 1, 2]
    assert ct.align(a, b)[:2].tolist() == [0, 0]


def test_aligned_models_keep_their_predictions():
    ratings, _ = mmsbm_ratings(60, 40, 800, (3, 3), rng=0)
    a, b = (ct.MMSBM(n_groups=3, max_iter=30, rng=seed).fit(ratings) for seed in (0, 1))
    aligned = ct.align(a, b)
    before, after = (
        np.einsum("ui,vj,ijr->uvr", m.user_memberships_, m.item_memberships_, m.theta_)
        for m in (b, aligned)
    )
    np.testing.assert_allclose(before, after)
    assert (matching(a.user_memberships_, aligned.user_memberships_) == np.arange(3)).all()
    graph, _ = planted_partition(60, 2, mean_degree=12, rng=0)
    a, b = (ct.MMSBM(n_groups=2, max_iter=50, rng=seed).fit(graph) for seed in (0, 1))
    aligned = ct.align(a, b)
    np.testing.assert_allclose(
        np.einsum("ui,vj,ijr->uvr", b.memberships_, b.memberships_, b.theta_),
        np.einsum("ui,vj,ijr->uvr", aligned.memberships_, aligned.memberships_, aligned.theta_),
    )


def test_invalid_inputs_are_rejected():
    with pytest.raises(InputError, match="3 and 4 nodes"):
        ct.align(np.array([0, 1, 1]), np.array([0, 1, 1, 0]))
    with pytest.raises(InputError, match="no memberships"):
        ct.align(np.array([0]), [0])
