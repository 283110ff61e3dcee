"""Who runs the tasks of an epoch: this process, or Spark."""
