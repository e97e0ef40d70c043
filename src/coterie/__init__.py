"""coterie: find groups in networks, predict ratings, publish networks without exposing people.

All three uses fit stochastic block models: nodes of a block have similar connections to all other
blocks.

- `GeneralizedKMeans` puts every node into one block (hard clustering).
- `MMSBM` and `MCMMSBM` give every node a share of each group (soft clustering).
- `Recommender` predicts ratings with these models or with `AdditiveBlockModel`.
- `Anonymizer` draws a similar new network, attacks it, and releases it if a `Policy` allows it.
- `PrivateSketch` makes a differentially private sketch of a network, from which graphs are drawn.

Read data with `read_graph`, `read_ratings` and `read_attributes`, or make a `Graph`, `Ratings` or
`NodeTable` of arrays. Names are loaded when first used, so that `import coterie` is quick.

Examples
--------
Two triangles that are joined by one edge:

>>> import coterie as ct
>>> graph = ct.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
>>> model = ct.GeneralizedKMeans(n_blocks=2, rng=0).fit(graph)
>>> bool(model.labels_[0] == model.labels_[2] != model.labels_[3] == model.labels_[5])
True
"""

from __future__ import annotations

from coterie.base.early_interrupt import catch_early_interrupt

catch_early_interrupt()  # before anything that takes long to load

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from coterie.base import renderers  # noqa: E402
from coterie.base.version import __version__ as __version__  # noqa: E402

if TYPE_CHECKING:
    from coterie.anonymize.anonymizer import Anonymizer as Anonymizer
    from coterie.anonymize.draw.dcsbm import Steps as Steps
    from coterie.anonymize.ledger import Ledger as Ledger
    from coterie.anonymize.output.release import Release as Release
    from coterie.anonymize.policy import Policy as Policy
    from coterie.anonymize.private.sketch import PrivateSketch as PrivateSketch
    from coterie.anonymize.private.sketch import load_sketch as load_sketch
    from coterie.base.errors import AssumptionWarning as AssumptionWarning
    from coterie.base.errors import CoterieError as CoterieError
    from coterie.base.errors import InputError as InputError
    from coterie.base.errors import LedgerRefusal as LedgerRefusal
    from coterie.base.errors import PolicyRefusedError as PolicyRefusedError
    from coterie.base.progress import Progress as Progress
    from coterie.data import Graph as Graph
    from coterie.data import Ratings as Ratings
    from coterie.data import datasets as datasets
    from coterie.data import generators as generators
    from coterie.data.layers import LayeredGraph as LayeredGraph
    from coterie.data.layers import read_layers as read_layers
    from coterie.data.node_table import NodeTable as NodeTable
    from coterie.data.node_table import read_attributes as read_attributes
    from coterie.data.node_table import read_features as read_features
    from coterie.data.readers import read_bipartite as read_bipartite
    from coterie.data.readers import read_graph as read_graph
    from coterie.data.readers import read_ratings as read_ratings
    from coterie.data.writers import write_graph as write_graph
    from coterie.data.writers import write_ratings as write_ratings
    from coterie.engine import LocalEngine as LocalEngine
    from coterie.engine.dask import DaskEngine as DaskEngine
    from coterie.models.additive.estimator import AdditiveBlockModel as AdditiveBlockModel
    from coterie.models.align import align as align
    from coterie.models.hard.block_model import BlockModel as BlockModel
    from coterie.models.hard.description.comparison import compare_models as compare_models
    from coterie.models.hard.hierarchy import hierarchy as hierarchy
    from coterie.models.hard.k_means import GeneralizedKMeans as GeneralizedKMeans
    from coterie.models.hard.layered import LayeredBlockModel as LayeredBlockModel
    from coterie.models.soft.mmsbm import MCMMSBM as MCMMSBM
    from coterie.models.soft.mmsbm import MMSBM as MMSBM
    from coterie.recommend import metrics as metrics
    from coterie.recommend.comparison import compare as compare
    from coterie.recommend.evaluation import evaluate as evaluate
    from coterie.recommend.model_file import load_recommender as load_recommender
    from coterie.recommend.recommender import Recommender as Recommender
    from coterie.recommend.rules import Rules as Rules

# Public name -> the module that defines it
_MODULES = {
    "AdditiveBlockModel": "coterie.models.additive.estimator",
    "Anonymizer": "coterie.anonymize.anonymizer",
    "AssumptionWarning": "coterie.base.errors",
    "BlockModel": "coterie.models.hard.block_model",
    "CoterieError": "coterie.base.errors",
    "DaskEngine": "coterie.engine.dask",
    "GeneralizedKMeans": "coterie.models.hard.k_means",
    "evaluate": "coterie.recommend.evaluation",
    "compare": "coterie.recommend.comparison",
    "compare_models": "coterie.models.hard.description.comparison",
    "Graph": "coterie.data",
    "InputError": "coterie.base.errors",
    "LayeredBlockModel": "coterie.models.hard.layered",
    "LayeredGraph": "coterie.data.layers",
    "Ledger": "coterie.anonymize.ledger",
    "LedgerRefusal": "coterie.base.errors",
    "LocalEngine": "coterie.engine",
    "MCMMSBM": "coterie.models.soft.mmsbm",
    "MMSBM": "coterie.models.soft.mmsbm",
    "NodeTable": "coterie.data.node_table",
    "Policy": "coterie.anonymize.policy",
    "PolicyRefusedError": "coterie.base.errors",
    "PrivateSketch": "coterie.anonymize.private.sketch",
    "Progress": "coterie.base.progress",
    "Ratings": "coterie.data",
    "Recommender": "coterie.recommend.recommender",
    "Release": "coterie.anonymize.output.release",
    "Rules": "coterie.recommend.rules",
    "Steps": "coterie.anonymize.draw.dcsbm",
    "align": "coterie.models.align",
    "hierarchy": "coterie.models.hard.hierarchy",
    "load_recommender": "coterie.recommend.model_file",
    "load_sketch": "coterie.anonymize.private.sketch",
    "read_attributes": "coterie.data.node_table",
    "read_bipartite": "coterie.data.readers",
    "read_features": "coterie.data.node_table",
    "read_graph": "coterie.data.readers",
    "read_layers": "coterie.data.layers",
    "read_ratings": "coterie.data.readers",
    "write_graph": "coterie.data.writers",
    "write_ratings": "coterie.data.writers",
}

# Public module -> its place
_PUBLIC_MODULES = {
    "datasets": "coterie.data.datasets",
    "generators": "coterie.data.generators",
    "metrics": "coterie.recommend.metrics",
}

# Old public name -> the present one
_RENAMED = {
    "Attributes": "NodeTable",
    "FeatureTable": "NodeTable",
}


# Kind of result -> module and function that draws it; loaded when first used
_RENDERERS = {
    renderers.CLUSTER_PLOT: ("coterie.report.cluster_report", "draw"),
    renderers.CLUSTER_SHOW: ("coterie.report.interactive", "show"),
    renderers.CLUSTER_REPORT: ("coterie.report.cluster_report", "render"),
    renderers.PAGE_FILE: ("coterie.report.pdf", "write_page"),
    renderers.NOTEBOOK: ("coterie.report.notebook", "fragment"),
    renderers.RELEASE: ("coterie.report.release_report", "render"),
}


def _register_renderer(kind: str, module: str, function: str) -> None:
    def draw(result: Any, **options: Any) -> Any:
        return getattr(import_module(module), function)(result, **options)

    renderers.register(kind, draw)


for _kind, _place in _RENDERERS.items():
    _register_renderer(_kind, *_place)

__all__ = sorted([*_MODULES, *_PUBLIC_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise AttributeError(f"coterie.{name} is now coterie.{_RENAMED[name]}")
    if name in _PUBLIC_MODULES:
        value: Any = import_module(_PUBLIC_MODULES[name])
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
