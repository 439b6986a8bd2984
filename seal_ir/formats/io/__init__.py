"""Files as such: found by name, opened, cut into lines or JSON values, written whole or not at all."""
