"""From records to tensors."""
