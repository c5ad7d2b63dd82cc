"""One file a linear map of rows to fewer dimensions."""
