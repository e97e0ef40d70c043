"""`compile` is public on every model and leaves it unfitted."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct

RATINGS = ct.Ratings.from_arrays([0, 1, 2, 0], [0, 1, 2, 1], [1, 2, 3, 2])
GRAPH = ct.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
DIRECTED = ct.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=True)
WEIGHTED = ct.Graph.from_edges([0, 1, 2], [1, 2, 0], weights=[1.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (ct.GeneralizedKMeans(3), GRAPH),
        (ct.BlockModel("simple"), GRAPH),
        (ct.GeneralizedKMeans(3, objective="directed", search="paper"), DIRECTED),
        (ct.GeneralizedKMeans(2, objective="weighted", min_block_size=2), WEIGHTED),
        (ct.GeneralizedKMeans((2, 2), objective="ratings"), RATINGS),
        (ct.GeneralizedKMeans(2, objective="gaussian"), np.zeros((3, 2))),
        (ct.MMSBM(3), RATINGS),
        (ct.MMSBM(3, validation=0.2, warm_start=True), RATINGS),
        (ct.MCMMSBM(3), GRAPH),
        (ct.MMSBM(2, absent="ignored"), WEIGHTED),
        (ct.AdditiveBlockModel(), RATINGS),
    ],
    ids=repr,
)
def test_every_model_compiles_its_kernels(model, data):
    before = model.get_params()
    model.compile(data)
    assert model.get_params() == before
    assert not [name for name in vars(model) if name.endswith("_")]
