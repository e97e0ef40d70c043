"""Try settings of a release one by one, each once, and keep the one that passes and keeps most.

What differs between searches is which settings are tried, and when it is enough: other parameters
after a refusal (suggestions.py), other blocks (block_settings.py), the application's chart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from coterie.anonymize.utility.release_utility import Utility

Setting = TypeVar("Setting", bound=Hashable)


class Trial(NamedTuple):
    """A trial release: whether it was refused, and how much it keeps of the original."""

    refused: bool
    not_kept: int = 0  # measures outside their tolerance
    communities: float = 0.0  # modularity of its communities in the original; 1: as the original's

    @classmethod
    def of(cls, *, refused: bool, utility: Utility | None) -> Trial:
        """Return the outcome of a trial release; one that could not be drawn has no utility."""
        if utility is None:
            return cls(refused)
        return cls(refused, len(utility.not_kept), utility.communities.foreign_share)

    def keeps(self) -> tuple[int, float]:
        """Return a key that is larger for a release that keeps more."""
        return -self.not_kept, self.communities


class SettingsSearch(Generic[Setting]):
    """The settings that were tried, in this order, and what came of them."""

    def __init__(self, attempt: Callable[[Setting], Trial]) -> None:
        self._attempt = attempt
        self.trials: dict[Setting, Trial] = {}

    def passes(self, setting: Setting) -> bool:
        """Return whether a setting passes; it is tried the first time only."""
        if setting not in self.trials:
            self.trials[setting] = self._attempt(setting)
        return not self.trials[setting].refused

    def run(
        self,
        settings: Iterable[Setting],
        *,
        most: int | None = None,
        enough: Callable[[bool], bool] = lambda passed: False,
    ) -> None:
        """Try settings until there are `most` trials, or `enough` says so after one of them."""
        for setting in settings:
            if len(self.trials) == most or enough(self.passes(setting)):
                break

    @property
    def accepted(self) -> list[Setting]:
        """The settings that pass."""
        return [setting for setting, trial in self.trials.items() if not trial.refused]

    @property
    def best(self) -> Setting | None:
        """The setting that passes and keeps most, the first of equal ones; None if none passes."""
        return max(self.accepted, key=lambda setting: self.trials[setting].keeps(), default=None)
