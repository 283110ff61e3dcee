"""The command line: scripts and statements in, answers on standard output, everything else on standard error."""
