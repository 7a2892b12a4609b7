"""Parts of the command line ``simckp``: shared options, terminal output, the ``data`` commands."""
