"""Scikit-learn's manners: `__init__` only stores, `fit` returns self, learnt names end in `_`."""

from __future__ import annotations

import inspect
from typing import Any, Self

from coterie.base import renderers


class Estimator:
    """Parameters by name, so that `sklearn.base.clone` and model selection work.

    >>> class Half(Estimator):
    ...     def __init__(self, share=0.5): self.share = share
    >>> Half(0.25), Half().set_params(share=0.75).get_params()
    (Half(share=0.25), {'share': 0.75})
    """

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}, only {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        )
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str | None:
        """A small report of a fitted model; Jupyter shows the repr where this is None."""
        return renderers.render(renderers.NOTEBOOK, self)
