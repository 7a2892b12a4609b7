"""The model hub: public document sets, and what can go wrong there."""
