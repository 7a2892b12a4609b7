"""One entry point a stage; ``dvc.yaml`` says which reads what."""
