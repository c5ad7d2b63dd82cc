"""One file a data set, found by `experiments.paper.data_folder`."""
