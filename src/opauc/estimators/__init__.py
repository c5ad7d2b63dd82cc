"""The scikit-learn skin that both families share: input checks, scores, labels, probabilities."""
