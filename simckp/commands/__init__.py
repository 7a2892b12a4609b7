"""Parts of the command ``simckp``: its options, its tables, the commands on data."""
