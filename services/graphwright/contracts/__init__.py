"""The protobuf contracts, generated from proto/ and never edited."""
