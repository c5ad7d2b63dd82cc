"""The same sums on a Dask cluster."""
