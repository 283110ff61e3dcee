"""Crashes: whatever happens when, a run that goes on gives the answers of one that nothing disturbed."""
