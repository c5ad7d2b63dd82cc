"""The terms of additive models: values, standard errors, explanations, plots."""
