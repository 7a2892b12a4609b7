"""The data sets between the stages: row types, schemas, shards."""
