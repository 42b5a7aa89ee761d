//! Readers of a program's output, with a size limit. They always read to the end, so that the program never blocks.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};

/// Maximum kept size of stderr.
pub(crate) const STDERR_BYTES: usize = 64 << 10;
const CHUNK_BYTES: usize = 16 << 10;
/// Maximum size that is still read after a stop; more than a pipe can hold.
const LAST_BYTES: usize = 1 << 20;

/// Reads to the end, or until stopped: a remaining process may hold the other end open forever.
pub(crate) struct StoppableReader<R> {
    from: R,
    /// Closing the other end of this file stops the reader.
    stop: OwnedFd,
    left: usize,
}

impl<R: Read + AsFd> StoppableReader<R> {
    pub fn new(from: R, stop: OwnedFd) -> Self {
        Self { from, stop, left: LAST_BYTES }
    }
}

impl<R: Read + AsFd> Read for StoppableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut files = [PollFd::new(&self.from, PollFlags::IN), PollFd::new(&self.stop, PollFlags::IN)];
        while let Err(error) = poll(&mut files, None) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        let [there, stopped] = [&files[0], &files[1]].map(|file| !file.revents().is_empty());
        if stopped && (!there || self.left == 0) {
            return Ok(0);
        }
        let got = self.from.read(buffer)?;
        if stopped {
            self.left = self.left.saturating_sub(got);
        }
        Ok(got)
    }
}

/// Keeps the beginning, and returns whether there was more.
pub(crate) fn head(mut from: impl Read + Send + 'static, most: usize) -> JoinHandle<(Vec<u8>, bool)> {
    std::thread::spawn(move || {
        let (mut kept, mut cut) = (Vec::new(), false);
        let mut chunk = [0; CHUNK_BYTES];
        while let Ok(got @ 1..) = from.read(&mut chunk) {
            let room = most - kept.len();
            kept.extend_from_slice(&chunk[..got.min(room)]);
            cut |= got > room;
        }
        (kept, cut)
    })
}

/// Keeps the end.
pub(crate) fn tail(mut from: impl Read + Send + 'static, most: usize) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept: Vec<u8> = Vec::new();
        let mut chunk = [0; CHUNK_BYTES];
        while let Ok(got @ 1..) = from.read(&mut chunk) {
            kept.extend_from_slice(&chunk[..got]);
            if kept.len() > 2 * most {
                kept.drain(..kept.len() - most);
            }
        }
        kept.drain(..kept.len().saturating_sub(most));
        kept
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_beginning_is_kept_and_what_is_cut_is_said() {
        assert_eq!(head(&b"abcdef"[..], 4).join().unwrap(), (b"abcd".to_vec(), true));
        assert_eq!(head(&b"abcd"[..], 4).join().unwrap(), (b"abcd".to_vec(), false));
    }

    #[test]
    fn the_end_is_kept_however_long_it_gets() {
        let long = vec![b'x'; 200_000].into_iter().chain(*b"end").collect::<Vec<u8>>();
        let kept = tail(std::io::Cursor::new(long), 5).join().unwrap();
        assert_eq!(kept, b"xxend");
    }
}
