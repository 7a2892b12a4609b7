"""The code for GPUs, on a pretend one."""
