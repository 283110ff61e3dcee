"""Sweeps over arrays: numpy, numba and pyarrow, nothing else."""
