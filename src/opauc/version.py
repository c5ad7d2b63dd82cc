"""The version of the package, which model files tell."""

__version__ = "0.1.0"
