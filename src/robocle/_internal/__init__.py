"""Code that the rest of the package shares. Users import nothing from here."""
