//! Numbers that look random and are the same for the same seed.

/// SplitMix64 (G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
pub struct Numbers(u64);

impl Numbers {
    /// A sequence; different seeds give unrelated ones.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `limit` (which is not 0).
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Fills a buffer with bytes that do not compress.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for piece in buffer.chunks_mut(8) {
            piece.copy_from_slice(&self.next().to_le_bytes()[..piece.len()]);
        }
    }
}
