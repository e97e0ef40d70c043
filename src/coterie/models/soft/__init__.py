"""Soft clustering: mixed-membership models fitted by EM.

How a fit runs: `mmsbm.MMSBM.fit` → `validation.check` → `problems` (the data as an EM
problem on an engine) → `em.run_em` (the iterations) → `em.SoftRun` (what the estimator shows).
"""
