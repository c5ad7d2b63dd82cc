"""What the additive learner is made of: penalties and their strengths, the fit to a sample, the search for pairs."""
