"""scikit-learn conventions: pipelines, `check_estimator`, and old names that say the new ones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.generators import planted_partition

GRAPH = planted_partition(60, 3, mean_degree=10, rng=0)[0]
RATINGS = ct.Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 2, 1], [1, 2, 1, 3, 2])


@pytest.mark.parametrize("search", ["best", "paper"])
def test_clustering_of_points_passes_the_checks_of_scikit_learn(search: str) -> None:
    model = ct.GeneralizedKMeans(2, objective="gaussian", search=search)
    failed = [
        (check["check_name"], check["exception"])
        for check in check_estimator(model, on_fail=None, on_skip=None)
        if check["status"] == "failed"
    ]
    assert not failed


def test_pipeline_fits_predicts_and_scores() -> None:
    points = np.random.default_rng(0).normal(size=(40, 3))
    points[:20] += 9
    pipeline = make_pipeline(StandardScaler(), ct.GeneralizedKMeans(2, objective="gaussian"))
    labels = pipeline.fit_predict(points)
    assert len(set(labels[:20])) == len(set(labels[20:])) == 1 and labels[0] != labels[39]
    np.testing.assert_array_equal(pipeline.fit(points).predict(points), labels)
    assert pipeline.score(points) == pytest.approx(-pipeline[-1].entropy_)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (ct.GeneralizedKMeans(3), GRAPH),
        (ct.BlockModel(), GRAPH),
        (ct.GeneralizedKMeans((2, 2), objective="ratings"), RATINGS),
        (ct.BlockModel("ratings"), RATINGS),
    ],
    ids=repr,
)
def test_models_of_graphs_and_ratings_follow_the_conventions_that_make_sense(model, data) -> None:
    """clone, fit with y, fit_predict, score, and tags; arrays are not their data."""
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    labels = copy.fit_predict(data, None)
    assert copy.score(data) == pytest.approx(-copy.entropy_)
    assert isinstance(labels, tuple) == isinstance(data, ct.Ratings)
    assert model.__sklearn_tags__().estimator_type == "clusterer"
    assert copy.assumptions(data)


def test_old_names_say_the_new_ones() -> None:
    model = ct.GeneralizedKMeans((2, 2), objective="ratings").fit(RATINGS)
    with pytest.raises(AttributeError, match=r"labels_\[0\]"):
        model.user_labels_  # noqa: B018
    with pytest.raises(InputError, match="move_score"):
        ct.GeneralizedKMeans(2, score="exact")
    with pytest.raises(InputError, match=r'BlockModel\("simple"\)'):
        ct.GeneralizedKMeans("auto").fit(GRAPH)
    with pytest.raises(InputError, match=r'BlockModel\("communities"\)'):
        ct.GeneralizedKMeans(2, objective="communities").fit(GRAPH)
    with pytest.raises(InputError, match="communities, directed-degree-corrected"):
        ct.GeneralizedKMeans(2, objective="comunities").fit(GRAPH)


def test_an_engine_in_the_place_of_y_is_an_error() -> None:
    with pytest.raises(ct.InputError, match="`engine` is given by name"):
        ct.GeneralizedKMeans(1).fit(ct.Graph.from_edges([0], [1]), ct.LocalEngine(1))
    with pytest.raises(ct.InputError, match="`engine` is given by name"):
        ct.BlockModel("simple").fit(ct.Graph.from_edges([0], [1]), "local")
