"""What the scikit-learn estimators of all families share: input checks, scores, labels, probabilities."""
