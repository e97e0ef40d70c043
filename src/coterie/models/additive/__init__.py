"""The additive block model: a sum of small hard block models, sampled (docs/additive.md)."""

from coterie.models.additive.estimator import AdditiveBlockModel

__all__ = ["AdditiveBlockModel"]
