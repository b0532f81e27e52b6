"""What a job is about: rows of data sets as typed tasks, tool schemas, and the one parser of model output."""
