"""Cubes: a folder with the sums of each segment of the rows, a day, a region or a customer, of one basis."""
