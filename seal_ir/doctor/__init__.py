"""What is installed here, what of it works, and what would mend the rest."""
