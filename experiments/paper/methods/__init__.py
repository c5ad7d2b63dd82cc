"""One file a method, found by `experiments.paper.plan`."""
