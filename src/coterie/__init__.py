"""coterie: groups in a graph by stochastic block models.

The public names, loaded when first used, so that `import coterie` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.base import display
from coterie.base.version import __version__ as __version__

if TYPE_CHECKING:
    from coterie.anonymize.anonymizer import Anonymizer as Anonymizer
    from coterie.base.errors import CoterieError as CoterieError
    from coterie.base.errors import InputError as InputError
    from coterie.data import Graph as Graph
    from coterie.data import Ratings as Ratings
    from coterie.data.readers import read_graph as read_graph
    from coterie.data.readers import read_ratings as read_ratings
    from coterie.data.writers import write_graph as write_graph
    from coterie.models.additive import AdditiveBlockModel as AdditiveBlockModel
    from coterie.models.align import align as align
    from coterie.models.hard.estimator import GeneralizedKMeans as GeneralizedKMeans
    from coterie.models.soft.mcmmsbm import MCMMSBM as MCMMSBM
    from coterie.models.soft.mmsbm import MMSBM as MMSBM
    from coterie.recommend.model_file import load as load
    from coterie.recommend.recommender import Recommender as Recommender

_HOMES = {
    "AdditiveBlockModel": "coterie.models.additive",
    "Anonymizer": "coterie.anonymize.anonymizer",
    "CoterieError": "coterie.base.errors",
    "GeneralizedKMeans": "coterie.models.hard.estimator",
    "Graph": "coterie.data",
    "InputError": "coterie.base.errors",
    "MCMMSBM": "coterie.models.soft.mcmmsbm",
    "MMSBM": "coterie.models.soft.mmsbm",
    "Ratings": "coterie.data",
    "Recommender": "coterie.recommend.recommender",
    "align": "coterie.models.align",
    "load": "coterie.recommend.model_file",
    "read_graph": "coterie.data.readers",
    "read_ratings": "coterie.data.readers",
    "write_graph": "coterie.data.writers",
}

display.register("coterie.report.notebook:fragment")

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
