"""From a graph and its blocks to classes, a model of the release, and new graphs."""
