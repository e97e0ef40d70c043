"""What every model of ratings does: its test class inherits `RatingModelContract`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.support.small_models import two_tastes

import coterie as ct
from coterie.base.errors import InputError
from coterie.base.progress import Iteration, Progress
from coterie.engine import LocalEngine
from coterie.models.declaration import Ability, DataKind
from coterie.models.rating_model import RatingModel
from coterie.recommend import registry

USERS, ITEMS = ["u3", "u8", "u11", "nobody"], [104, 111, 999, 105]


class RatingModelContract:
    """The contract. A test class sets `name` (that of the list), and `settings` of a quick fit."""

    name: ClassVar[str]
    settings: ClassVar[dict[str, Any]] = {}

    @classmethod
    def model(cls, **parameters: Any) -> Any:
        """Return an unfitted model of the list that is fitted quickly."""
        return registry.make_model(cls.name).set_params(**{**cls.settings, **parameters})

    @pytest.fixture(scope="class")
    @classmethod
    def ratings(cls) -> ct.Ratings:
        return two_tastes()

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls, ratings: ct.Ratings) -> ct.Recommender:
        """A fitted recommender, which tests must not change."""
        return ct.Recommender(cls.model()).fit(ratings)

    @pytest.fixture
    def loaded(self, fitted: ct.Recommender, tmp_path: Path) -> ct.Recommender:
        """A copy through a file, which a test may change."""
        fitted.save(tmp_path / "model")
        return ct.load_recommender(tmp_path / "model")

    def test_the_list_and_the_declaration_agree(self) -> None:
        entry = next(entry for entry in registry.MODELS if entry.name == self.name)
        model = self.model()
        declared = type(model).declaration
        assert isinstance(model, RatingModel) and type(model) is entry.estimator_class()
        assert entry.ranked_by == model.ranked_by
        assert declared.name == self.name and entry.predictor_class().kind == entry.kind
        assert DataKind.RATINGS in declared.data and declared.can(Ability.PREDICT)
        assert set(declared.parameters) == set(model.get_params())
        assert set(declared.option_names) <= set(declared.parameters)

    def test_parameters_are_cloned_and_wrong_ones_rejected(self, ratings: ct.Ratings) -> None:
        model = self.model(rng=5)
        assert repr(clone(model).get_params()) == repr(model.get_params())
        assert set(vars(model)) == set(model.get_params())
        with pytest.raises(ValueError, match="no_such_thing"):
            model.set_params(no_such_thing=1)
        with pytest.raises(InputError, match="invalid seed"):
            self.model(rng="zero").fit(ratings)

    def test_fit_reports_progress_and_its_history(self, ratings: ct.Ratings) -> None:
        received: list[Progress] = []
        model = self.model()
        assert model.fit(ratings, callback=received.append) is model
        assert received and model.interrupted_ is False
        assert np.isfinite(model.entropy_) and model.ratings_ is ratings
        assert model.history_ and all(isinstance(one, Iteration) for one in model.history_)

    def test_compile_leaves_the_model_unfitted(self, ratings: ct.Ratings) -> None:
        model = self.model()
        before = repr(vars(model))
        model.compile(ratings)
        assert repr(vars(model)) == before

    def test_predictions_are_distributions(
        self, fitted: ct.Recommender, ratings: ct.Ratings
    ) -> None:
        users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
        p = fitted.predict_proba([*users, *USERS], [*items, *ITEMS])
        assert (p >= 0).all() and p.shape[1] == len(fitted.values_)
        assert_allclose(p.sum(axis=1), 1, atol=1e-6)
        assert_allclose(fitted.predict(users, items), p[: len(users)] @ fitted.values_)
        guess = np.full(len(ratings), ratings.ratings.mean())
        error = np.abs(fitted.predict(users, items) - ratings.ratings).mean()
        assert error < np.abs(guess - ratings.ratings).mean()  # something was learned

    def test_the_mean_prediction_has_the_shares_of_the_ratings(
        self, fitted: ct.Recommender, ratings: ct.Ratings
    ) -> None:
        users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
        levels = fitted.predictor_.levels(ratings.ratings)
        shares = np.bincount(levels, minlength=len(fitted.values_)) / len(levels)
        assert_allclose(fitted.predict_proba(users, items).mean(axis=0), shares, atol=0.02)

    def test_rankings_follow_the_predictions(self, fitted: ct.Recommender) -> None:
        best = fitted.recommend("u3", 5, order="rating")
        assert_allclose(
            [one.rating for one in best], fitted.predict(["u3"] * 5, [b.item for b in best])
        )
        assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
        assert len(fitted.recommend("nobody", 4)) == 4

    def test_an_explanation_adds_up(self, fitted: ct.Recommender) -> None:
        why = fitted.explain("u3", 104)
        total = sum(term.share for term in why.contributions)
        assert total == pytest.approx(fitted.predict(["u3"], [104])[0], abs=1e-6)
        assert "u3" in why.words()[0]
        similar = fitted.similar_items(104, 5)
        assert len(similar) == 5 and all(x <= 1 + 1e-9 for _, x in similar)

    def test_a_file_holds_everything(self, fitted: Any, loaded: Any, tmp_path: Path) -> None:
        assert_array_equal(loaded.predict_proba(USERS, ITEMS), fitted.predict_proba(USERS, ITEMS))
        assert loaded.recommend("u3") == fitted.recommend("u3")
        assert repr(loaded.model.get_params()) == repr(fitted.model_.get_params())
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()

    def test_users_and_items_are_added_without_refitting(self, loaded: ct.Recommender) -> None:
        alone = loaded.only_newcomers([["new", 104], ["new", 105]], [5, 1])
        before = loaded.predict_proba(["u3"], [104])
        loaded.fold_in([["new", 104], ["new", 105]], [5, 1])
        assert_array_equal(
            alone.predict_proba(["new"], [106]), loaded.predict_proba(["new"], [106])
        )
        loaded.fold_in([["new", 900], ["u8", 900]], [4, 2])
        assert not loaded.unseen(["new", "u8"], [106, 900]).any()
        assert_array_equal(loaded.predict_proba(["u3"], [104]), before)

    def test_threads_do_not_change_the_result(self, ratings: ct.Ratings) -> None:
        found = []
        for threads in (1, 2):
            with LocalEngine(threads) as engine:
                rec = ct.Recommender(self.model(rng=3)).fit(ratings, engine=engine)
            found.append(rec.predict_proba(USERS, ITEMS))
        assert_array_equal(*found)

    def test_an_interrupted_fit_continues_to_the_same_result(
        self, ratings: ct.Ratings, tmp_path: Path
    ) -> None:
        model = self.model()
        if not model.declaration.can(Ability.CHECKPOINT):
            assert "checkpoint" not in inspect.signature(model.fit).parameters
            return
        calls = iter(range(3))

        def interrupt(progress: Progress) -> None:
            if progress.stage == "fit" and next(calls, None) is None:
                raise KeyboardInterrupt

        file = tmp_path / "fit.ckpt"
        model.fit(ratings, callback=interrupt, checkpoint=file, checkpoint_every=1)
        resumed = self.model().fit(ratings, checkpoint=file, resume=True)
        whole = self.model().fit(ratings)
        assert resumed.entropy_ == whole.entropy_

    def test_features_are_used_or_refused(self, ratings: ct.Ratings) -> None:
        years = ct.NodeTable.from_columns([*ratings.item_ids, 500], {"even": [*"ab" * 15, "a"]})
        rec = ct.Recommender(self.model())
        if rec.model.declaration.can(Ability.FEATURES):
            rec.fit(ratings, item_features=years)
            assert not rec.unseen(["u3"], [500]).any()
            return
        with pytest.raises(InputError, match="item_features"):
            rec.fit(ratings, item_features=years)
