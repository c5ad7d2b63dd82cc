"""The one loop that learns: labels, width, chunks, progressive AUC, stop and resume; and the files it writes."""
