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
    from coterie.graph import Graph as Graph
    from coterie.graph import Ratings as Ratings
    from coterie.graph.readers import read_graph as read_graph
    from coterie.graph.readers import read_ratings as read_ratings
    from coterie.graph.writers import write_graph as write_graph
    from coterie.models.additive import AdditiveBlockModel as AdditiveBlockModel
    from coterie.models.align import align as align
    from coterie.models.generalized_k_means import GeneralizedKMeans as GeneralizedKMeans
    from coterie.models.mcmmsbm import MCMMSBM as MCMMSBM
    from coterie.models.mmsbm import MMSBM as MMSBM
    from coterie.recommend.recommender import Recommender as Recommender
    from coterie.recommend.storage import load as load

_HOMES = {
    "AdditiveBlockModel": "coterie.models.additive",
    "Anonymizer": "coterie.anonymize.anonymizer",
    "CoterieError": "coterie.base.errors",
    "GeneralizedKMeans": "coterie.models.generalized_k_means",
    "Graph": "coterie.graph",
    "InputError": "coterie.base.errors",
    "MCMMSBM": "coterie.models.mcmmsbm",
    "MMSBM": "coterie.models.mmsbm",
    "Ratings": "coterie.graph",
    "Recommender": "coterie.recommend.recommender",
    "align": "coterie.models.align",
    "load": "coterie.recommend.storage",
    "read_graph": "coterie.graph.readers",
    "read_ratings": "coterie.graph.readers",
    "write_graph": "coterie.graph.writers",
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
