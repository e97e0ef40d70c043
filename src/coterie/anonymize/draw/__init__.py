"""From an original graph to new graphs: classes, degrees, wiring, rewiring."""
