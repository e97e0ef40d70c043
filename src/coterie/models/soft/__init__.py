"""Soft clustering: mixed-membership models fitted by EM.

How a fit runs: `estimator.SoftModel.fit` → `validation.check` → `problems` (the data as an EM
problem on an engine) → `em.run_em` (the iterations) → `results` (what the estimator shows).
"""
