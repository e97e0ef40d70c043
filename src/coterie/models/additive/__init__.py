"""The additive block model: a sum of small hard block models, sampled by Markov chains.

How a fit runs: `estimator.AdditiveBlockModel.fit` → `validation` (checks, number of chains and
sweeps) → `chain_allocation` (which data each chain uses) → `sampling` (the chains) → samples.
"""
