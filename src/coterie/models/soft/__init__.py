"""The parts of the soft models: states, shards, problems, and the loop over them."""
