"""The picture of a plan: expected errors of a sketch over epsilon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.anonymize.private.plan import SketchPlan
from coterie.report.charts import Axis, Series, xy
from coterie.report.page import Section
from coterie.report.picture import Picture, draw_figures

_COUNTS = ("edges", "degree", "nodes_with_degree", "largest_degree", "triangles_100")


def draw_plan(plans: Sequence[SketchPlan]) -> Picture:
    """Draw the expected errors of several plans that differ in epsilon."""
    epsilon = np.array([float(each.epsilon) for each in plans])

    def series(key: str) -> Series:
        values = np.array([each[key].error for each in plans])
        return Series(plans[0][key].label, epsilon, values, "both")

    section = Section("Expected errors")
    for title, keys in (("Counts", _COUNTS), ("Mean local clustering", ("mean_clustering",))):
        chart = xy(
            [series(key) for key in keys],
            Axis("epsilon", log=True),
            Axis("expected error", log=True),
            description=f"{title}: expected errors over epsilon.",
        )
        section.draw(title, chart, pictured=True)
    size = f"{plans[0].nodes:,} nodes, {plans[0].edges:,} edges"
    return draw_figures([section], f"Expected errors of a sketch of {size}")
