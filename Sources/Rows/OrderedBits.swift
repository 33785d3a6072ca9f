extension Double {
    /// A word that orders as the number does: all bits are inverted if it is negative, otherwise only the sign bit. Both zeros
    /// have the same word.
    @inlinable package var orderedBits: UInt64 {
        let bits = (self == 0 ? 0 : self).bitPattern
        return bits >> 63 == 1 ? ~bits : bits | 1 << 63
    }
}
