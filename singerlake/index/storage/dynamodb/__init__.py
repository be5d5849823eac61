"""An index in DynamoDB, with the items and keys of the datalake whose API can read them."""
