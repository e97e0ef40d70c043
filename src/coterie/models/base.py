"""scikit-learn conventions: `__init__` only stores, `fit` returns self, fitted names end in `_`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from coterie.base.errors import InputError
from coterie.base.renderers import NotebookView
from coterie.data import Graph
from coterie.models.declaration import DataKind, Declaration


class Estimator(NotebookView):
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

    # What the model is; models/declaration.py
    declaration: ClassVar[Declaration] = Declaration("", {}, {})

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Create a model; a parameter that has another name now is an error that says so."""
        cls._require_new_names(params)
        return super().__new__(cls)

    @classmethod
    def _require_new_names(cls, params: Mapping[str, Any]) -> None:
        for old, new in cls.declaration.renamed.items():
            if old in params:
                raise InputError(
                    f"{cls.__name__} has no parameter `{old}`: it is called `{new}`",
                    remedy=f"use `{new}`",
                )

    def check_parameters(self) -> None:
        """Raise InputError for a parameter whose type or range is not the declared one."""
        self.declaration.check(self.get_params())

    def assumptions(self, data: Any) -> list[str]:
        """Say in sentences what the model assumes about the data, and where the search started.

        Parameters
        ----------
        data : Graph, Ratings or array of points
            The data that the model was fitted to.

        Returns
        -------
        list of str
            One sentence or more per entry.
        """
        kind = DataKind.GRAPH if isinstance(data, Graph) else DataKind.RATINGS
        found = self.declaration.assumptions.get(kind)
        sentences = [] if found is None else [found]
        starts = self.get_params().get("n_init")
        if starts is not None:
            number = "one random start" if starts == 1 else f"the best of {starts} random starts"
            sentences.append(
                f"The result comes from {number}; another seed can give a slightly different one."
            )
        return sentences

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        """Return the parameters of the constructor; `**options` are those of the base class."""
        owner = next(one for one in cls.__mro__ if "__init__" in vars(one))
        found = dict(inspect.signature(owner.__init__).parameters)  # type: ignore[misc]
        del found["self"]
        for name, parameter in list(found.items()):
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                del found[name]
                base: Any = owner.__mro__[1]
                found = {**found, **{k: v for k, v in base._parameters().items() if k not in found}}
        return found

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
        return {name: getattr(self, name) for name in self._parameters()}

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
        self._require_new_names(params)
        known = list(self._parameters())
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}, only {known}")
            setattr(self, name, value)
        return self

    @classmethod
    def public_name(cls) -> str:
        """Return the name of the class in texts: of a private one, that of its public base."""
        return next(one.__name__ for one in cls.__mro__ if not one.__name__.startswith("_"))

    def __repr__(self) -> str:
        defaults = self._parameters()
        shown = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        )
        return f"{type(self).__name__}({shown})"
