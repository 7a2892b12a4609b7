"""The model hub: public document sets and error handling."""
