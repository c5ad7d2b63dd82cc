"""Tree ensembles in additive models: grown by LightGBM, blended with curves and pairs, stored small."""
