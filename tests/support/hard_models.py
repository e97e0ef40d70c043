"""Hard clusterings for tests that run over given and chosen numbers of blocks alike."""

from __future__ import annotations

from typing import Any

from coterie.models.hard.block_model import BlockModel, searched_block_model
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.k_means import GeneralizedKMeans

_OF_SEARCH = {"search", "move_score", "alpha", "max_iter", "tol"}


def hard_model(
    n_blocks: Any = 10, *, objective: str = "simple", weight_model: str = "counts", **options: Any
) -> HardClustering:
    """Return a model with this number of blocks, or one that chooses it ("auto", "nested")."""
    if not isinstance(n_blocks, str) and weight_model == "counts":
        return GeneralizedKMeans(n_blocks, objective=objective, **options)
    kind = searched_block_model if _OF_SEARCH & set(options) else BlockModel
    return kind(
        objective,
        n_blocks=None if isinstance(n_blocks, str) else n_blocks,
        nested=n_blocks == "nested",
        weight_model=weight_model,
        **options,
    )
