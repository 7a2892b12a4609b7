"""Scores of candidates by the networks of both stages, with torch or ONNX Runtime."""
