"""Vector registers and prefetching, as numba can be told of them."""
