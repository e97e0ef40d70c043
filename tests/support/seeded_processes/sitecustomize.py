"""Python imports this at the start of every process that a test starts (see system_randomness)."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_file = Path(__file__).parents[1] / "system_randomness.py"
_spec = spec_from_file_location("coterie_test_randomness", _file)
assert _spec is not None and _spec.loader is not None
_module = module_from_spec(_spec)
_spec.loader.exec_module(_module)
_module.seed_this_process()
