"""One module a family of builtins; each has `cases(suite)`."""
