"""From documents to candidate phrases: tagging, joining of compounds, Algorithm 1."""
