"""Training: from questions, passages and bare collections to a model that search takes by name or path."""
