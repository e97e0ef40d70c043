"""Charts as SVG text; every chart comes with a table of its numbers.

Colours are CSS classes, so that one drawing works in light and dark mode and in print;
`standalone` makes a complete SVG file. Each mark has a `<title>`, which browsers show as a tooltip
without any script and which `templates/hover.js` replaces by a faster one.
"""

from coterie.base.number_text import percent, short
from coterie.report.charts.alluvial import Grouping, alluvial
from coterie.report.charts.bars import Gauge, bars, gauges
from coterie.report.charts.drawing import Chart, ChartTable, standalone
from coterie.report.charts.heatmap import heatmap
from coterie.report.charts.network import block_graph, network_drawing
from coterie.report.charts.xy import Axis, Reference, Series, histogram, xy

__all__ = [
    "Axis",
    "Chart",
    "ChartTable",
    "Gauge",
    "Grouping",
    "Reference",
    "Series",
    "alluvial",
    "bars",
    "block_graph",
    "gauges",
    "heatmap",
    "histogram",
    "network_drawing",
    "percent",
    "short",
    "standalone",
    "xy",
]
