"""What the rest of the package shares, and nothing that users import."""
