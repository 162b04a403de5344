//! What code lies where in one process.

use std::collections::BTreeMap;

use crate::maps::Mapped;

/// Mappings of one process that are remembered.
const AREAS_MOST: usize = 16_384;

/// Code that is mapped, and the number of what it is mapped from, once that was looked at.
#[derive(Clone, Debug)]
pub struct Area {
    pub mapped: Mapped,
    pub module: Option<u32>,
    /// What is added to an address as its file states it.
    pub bias: u64,
}

/// The code of one process, by address.
#[derive(Clone, Debug, Default)]
pub struct Space {
    areas: BTreeMap<u64, Area>,
    /// When /proc was last asked; 0: never.
    pub asked_ns: u64,
}

impl Space {
    pub fn of(mapped: Vec<Mapped>, now_ns: u64) -> Space {
        let mut space = Space {
            asked_ns: now_ns,
            ..Space::default()
        };
        for one in mapped {
            space.map(one);
        }
        space
    }

    /// Code comes in the place of what was there.
    pub fn map(&mut self, mapped: Mapped) {
        if mapped.start >= mapped.end || self.areas.len() >= AREAS_MOST {
            return;
        }
        let covered: Vec<u64> = self
            .areas
            .range(..mapped.end)
            .rev()
            .take_while(|(_, area)| area.mapped.end > mapped.start)
            .map(|(start, _)| *start)
            .collect();
        for start in covered {
            let Some(old) = self.areas.remove(&start) else {
                continue;
            };
            let mut head = old.clone();
            head.mapped.end = mapped.start;
            let mut tail = old;
            if tail.mapped.end > mapped.end {
                tail.mapped.offset += mapped.end - tail.mapped.start;
                tail.mapped.start = mapped.end;
                self.areas.insert(mapped.end, tail);
            }
            if head.mapped.start < head.mapped.end {
                self.areas.insert(start, head);
            }
        }
        let area = Area {
            mapped: mapped.clone(),
            module: None,
            bias: 0,
        };
        self.areas.insert(mapped.start, area);
    }

    /// What is mapped at an address.
    pub fn at(&self, address: u64) -> Option<&Area> {
        let (_, area) = self.areas.range(..=address).next_back()?;
        (address < area.mapped.end).then_some(area)
    }

    pub fn at_mut(&mut self, address: u64) -> Option<&mut Area> {
        let (_, area) = self.areas.range_mut(..=address).next_back()?;
        (address < area.mapped.end).then_some(area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(start: u64, end: u64, offset: u64, ino: u64) -> Mapped {
        Mapped {
            start,
            end,
            offset,
            dev: 1,
            ino,
            path: Vec::new(),
        }
    }

    #[test]
    fn what_is_mapped_later_lies_over_what_was_there() {
        let mut space = Space::of(vec![mapped(0x1000, 0x9000, 0, 1)], 1);
        space.map(mapped(0x3000, 0x5000, 0x100, 2));
        let found =
            |space: &Space, address| space.at(address).map(|a| (a.mapped.ino, a.mapped.offset));
        assert_eq!(found(&space, 0xfff), None);
        assert_eq!(found(&space, 0x1000), Some((1, 0)));
        assert_eq!(found(&space, 0x2fff), Some((1, 0)));
        assert_eq!(found(&space, 0x3000), Some((2, 0x100)));
        assert_eq!(found(&space, 0x5000), Some((1, 0x4000)));
        assert_eq!(found(&space, 0x9000), None);
        space.map(mapped(0, 0x10000, 0, 3));
        assert_eq!(space.at(0x5000).map(|a| a.mapped.ino), Some(3));
        assert_eq!(space.areas.len(), 1);
        space.map(mapped(0x20000, 0x20000, 0, 4));
        assert_eq!(space.areas.len(), 1);
    }
}
