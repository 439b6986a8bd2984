"""Why a document ranks where it does: keys with their places, what did not rank, and how to show it."""
