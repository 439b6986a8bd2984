"""The second stage of training: the score of documents itself, so that what is written ranks."""
