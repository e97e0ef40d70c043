"""Charts as SVG text, ours and small: every chart carries the table of what it draws.

Colours are CSS classes, so one drawing serves light, dark and print; `standalone` gives a file
of its own. Each mark that can be pointed at holds a `<title>`, which browsers show without any
script and `templates/hover.js` turns into a better tip.
"""

from coterie.report.charts.bars import bars, histogram
from coterie.report.charts.drawing import Chart, ChartTable, standalone
from coterie.report.charts.gauges import Gauge, gauges
from coterie.report.charts.heatmap import heatmap
from coterie.report.charts.network import block_graph
from coterie.report.charts.scales import percent, short
from coterie.report.charts.xy import Axis, Reference, Series, xy

__all__ = [
    "Axis",
    "Chart",
    "ChartTable",
    "Gauge",
    "Reference",
    "Series",
    "bars",
    "block_graph",
    "gauges",
    "heatmap",
    "histogram",
    "percent",
    "short",
    "standalone",
    "xy",
]
