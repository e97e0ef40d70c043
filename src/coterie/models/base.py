"""scikit-learn conventions: `__init__` only stores, `fit` returns self, fitted names end in `_`."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

from coterie.base import renderers
from coterie.models.declaration import Declaration


class Estimator:
    """Base class of models: parameters by name, so that `sklearn.base.clone` works.

    Every model has `fit(data, engine, callback)` and stores what it learned in attributes whose
    names end in an underscore.

    Examples
    --------
    >>> class Half(Estimator):
    ...     def __init__(self, share=0.5): self.share = share
    >>> Half(0.25), Half().set_params(share=0.75).get_params()
    (Half(share=0.25), {'share': 0.75})
    """

    declaration: ClassVar[Declaration]  # what the model is; models/declaration.py

    def check_parameters(self) -> None:
        """Raise InputError for a parameter whose type or range is not the declared one."""
        self.declaration.check(self.get_params())

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor.

        Parameters
        ----------
        deep : bool, default=True
            Accepted for scikit-learn; has no effect, because no parameter is an estimator.

        Returns
        -------
        dict
            Value of each parameter by name.
        """
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor.

        Parameters
        ----------
        **params : Any
            New values by name.

        Returns
        -------
        self
            The model.

        Raises
        ------
        ValueError
            If the model has no parameter of that name.
        """
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
        """Return a small report of a fitted model; Jupyter shows the repr if this is None."""
        fragment: str | None = renderers.render(renderers.NOTEBOOK, self)
        return fragment
