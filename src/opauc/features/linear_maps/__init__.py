"""One file a linear map of rows to fewer dimensions; `find_maps` finds them here."""
