"""Plain files, one kind to a module, read and written as streams; always UTF-8, whatever the locale."""
