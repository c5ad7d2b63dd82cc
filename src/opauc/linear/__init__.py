"""Linear scorers of the square pair loss: the paper's algorithms and their exact form.

>>> from opauc.linear import effective_rank
>>> effective_rank([[3.0, 0.0], [0.0, 0.0]], 1.0)
0.75
"""

from opauc.linear.theory import effective_rank, theorem_step_size

__all__ = ["effective_rank", "theorem_step_size"]
