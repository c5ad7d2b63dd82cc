"""What `OnePassGAM` is made of: training, inspection, shaping, and the algebra of its sums."""
