"""Score predictions as the published scripts do, with confidence intervals, tables and figures."""
