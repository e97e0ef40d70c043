"""coterie: groups in a graph by stochastic block models.

The public names, loaded when first used, so that `import coterie` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.base import renderers
from coterie.base.version import __version__ as __version__

if TYPE_CHECKING:
    from coterie.anonymize.anonymizer import Anonymizer as Anonymizer
    from coterie.anonymize.draw.dcsbm import Steps as Steps
    from coterie.anonymize.output.release import Release as Release
    from coterie.anonymize.policy import Policy as Policy
    from coterie.base.errors import AssumptionWarning as AssumptionWarning
    from coterie.base.errors import CoterieError as CoterieError
    from coterie.base.errors import InputError as InputError
    from coterie.base.errors import PolicyRefusedError as PolicyRefusedError
    from coterie.base.progress import Progress as Progress
    from coterie.data import Graph as Graph
    from coterie.data import Ratings as Ratings
    from coterie.data.readers import read_graph as read_graph
    from coterie.data.readers import read_ratings as read_ratings
    from coterie.data.writers import write_graph as write_graph
    from coterie.engine import LocalEngine as LocalEngine
    from coterie.engine.dask import DaskEngine as DaskEngine
    from coterie.models.additive import AdditiveBlockModel as AdditiveBlockModel
    from coterie.models.align import align as align
    from coterie.models.hard.estimator import GeneralizedKMeans as GeneralizedKMeans
    from coterie.models.soft.mcmmsbm import MCMMSBM as MCMMSBM
    from coterie.models.soft.mmsbm import MMSBM as MMSBM
    from coterie.recommend.model_file import load_recommender as load_recommender
    from coterie.recommend.recommender import Recommender as Recommender

_HOMES = {
    "AdditiveBlockModel": "coterie.models.additive",
    "Anonymizer": "coterie.anonymize.anonymizer",
    "CoterieError": "coterie.base.errors",
    "GeneralizedKMeans": "coterie.models.hard.estimator",
    "AssumptionWarning": "coterie.base.errors",
    "DaskEngine": "coterie.engine.dask",
    "Graph": "coterie.data",
    "InputError": "coterie.base.errors",
    "LocalEngine": "coterie.engine",
    "MCMMSBM": "coterie.models.soft.mcmmsbm",
    "MMSBM": "coterie.models.soft.mmsbm",
    "Policy": "coterie.anonymize.policy",
    "PolicyRefusedError": "coterie.base.errors",
    "Progress": "coterie.base.progress",
    "Ratings": "coterie.data",
    "Recommender": "coterie.recommend.recommender",
    "Release": "coterie.anonymize.output.release",
    "Steps": "coterie.anonymize.draw.dcsbm",
    "align": "coterie.models.align",
    "load_recommender": "coterie.recommend.model_file",
    "read_graph": "coterie.data.readers",
    "read_ratings": "coterie.data.readers",
    "write_graph": "coterie.data.writers",
}


def _notebook_fragment(model: Any) -> str | None:
    from coterie.report.notebook import fragment

    return fragment(model)


def _release_page(summary: Any) -> str:
    from coterie.report.release_report import render

    return render(summary)


renderers.register(renderers.NOTEBOOK, _notebook_fragment)
renderers.register(renderers.RELEASE, _release_page)

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
