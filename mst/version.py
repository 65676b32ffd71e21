"""The version of this package, for modules that must not load all of it."""

__version__ = "0.1.0"
