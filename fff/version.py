"""The version of FFF, which reports tell; a module of its own, so that whoever tells it imports nothing else."""

__version__ = "0.1.0"
