"""The data sets that stages exchange: row types, schemas, shards."""
