// Placeholder of the module's first file.
