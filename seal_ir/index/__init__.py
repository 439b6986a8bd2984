"""The index: immutable FM-index segments behind one manifest."""
