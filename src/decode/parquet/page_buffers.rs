//! The memory of pages, used again for those that follow.
//!
//! *Owns:* [`PageBuffers`]. *Invariants:* a buffer is used again only when nobody has a piece of its page any more.
//! *Cost:* as much as two pages and one that is compressed, which stays until the column ends. Where the system gave
//! the memory of every page anew, a union of the keys of two files took 1.05 times as long.

use bytes::{Bytes, BytesMut};

/// The buffers of the pages of a column.
#[derive(Debug, Default)]
pub(super) struct PageBuffers {
    /// The memory of a page as it is in the file.
    stored: Vec<u8>,
    /// The last page.
    last: Bytes,
    /// The page before it: a decoder lets go of it when it gets the last one.
    before_last: Bytes,
}

impl PageBuffers {
    /// Takes memory for `bytes` bytes of a page as it is in the file; [`PageBuffers::put_stored`] takes it back. What
    /// is in it does not matter.
    pub(super) fn take_stored(&mut self, bytes: usize) -> Vec<u8> {
        if self.stored.capacity() < bytes {
            self.stored = Vec::new();
            return vec![0; bytes];
        }
        let mut stored = std::mem::take(&mut self.stored);
        stored.resize(bytes, 0);
        stored
    }

    /// Takes such memory back.
    pub(super) fn put_stored(&mut self, stored: Vec<u8>) {
        self.stored = stored;
    }

    /// Takes memory for a page of `bytes` bytes. What is in it does not matter.
    pub(super) fn take(&mut self, bytes: usize) -> BytesMut {
        let unused = std::mem::take(&mut self.before_last).try_into_mut().ok();
        // One that is too small is given back before there is another.
        match unused.filter(|unused| unused.capacity() >= bytes) {
            Some(mut unused) => {
                unused.resize(bytes, 0);
                unused
            }
            None => BytesMut::zeroed(bytes),
        }
    }

    /// Makes a page of such memory.
    pub(super) fn page(&mut self, bytes: BytesMut) -> Bytes {
        let page = bytes.freeze();
        self.before_last = std::mem::replace(&mut self.last, page.clone());
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_somebody_has_a_piece_of_is_not_written_over() {
        let mut buffers = PageBuffers::default();
        let mut pages = Vec::new();
        for number in 0..6 {
            let mut page = buffers.take(100 - number);
            page.fill(number as u8);
            // The decoder has the last page, and of one of them somebody has a piece.
            let page = buffers.page(page);
            if number == 1 {
                pages.push(page.slice(3..50));
            }
            let is_whole =
                page.len() == 100 - number && page.iter().all(|&byte| byte == number as u8);
            assert!(is_whole, "{number}");
        }
        assert!(pages[0].iter().all(|&byte| byte == 1));
    }

    #[test]
    fn the_memory_of_the_page_before_the_last_is_used_again() {
        let mut buffers = PageBuffers::default();
        let mut places = Vec::new();
        for bytes in [1000, 900, 800, 1000, 2000] {
            let page = buffers.take(bytes);
            assert_eq!(
                page.len(),
                bytes,
                "also where what there is does not suffice"
            );
            places.push(page.as_ptr());
            let _page = buffers.page(page);
        }
        assert_eq!(places[2], places[0]);
        for bytes in [10, 30, 20] {
            let stored = buffers.take_stored(bytes);
            assert_eq!(stored.len(), bytes);
            buffers.put_stored(stored);
        }
    }
}
