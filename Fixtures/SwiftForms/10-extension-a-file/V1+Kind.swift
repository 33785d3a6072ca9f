extension SchemaV1.Dog { enum Kind: String, Codable { case big, small } }
