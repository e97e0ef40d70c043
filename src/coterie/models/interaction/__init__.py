"""Which items a user will interact with: item regression and factors over all pairs, combined."""

from coterie.models.interaction.estimator import InteractionModel

__all__ = ["InteractionModel"]
