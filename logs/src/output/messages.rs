//! Messages to the reader while a log is taken apart: JSON, one a line.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::{Error, Result};

/// Lines that are shown when they were not understood; more are only counted.
const REJECTED_SHOWN: u64 = 1000;
const REJECTED_BYTES: usize = 400;

/// A message: its kind is the key of the JSON object.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Message<'a> {
    /// A line that was not understood.
    Rejected { line: u64, text: &'a str },
    /// How many bytes of the input are done.
    Done(u64),
    /// The log is damaged, as a whole: the last message.
    Damaged(&'a str),
}

/// The last message when all went well.
#[derive(Serialize)]
struct Summary<S> {
    summary: S,
}

pub struct Messages {
    out: Box<dyn Write>,
    rejected: u64,
}

impl Messages {
    pub(super) fn new(out: Box<dyn Write>) -> Self {
        Self { out, rejected: 0 }
    }

    /// How many lines were not understood.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// A line that was not understood; beyond the first ones they are only counted.
    pub fn reject(&mut self, line: u64, text: &[u8]) -> Result<()> {
        self.rejected += 1;
        if self.rejected > REJECTED_SHOWN {
            return Ok(());
        }
        let text = &String::from_utf8_lossy(&text[..text.len().min(REJECTED_BYTES)]);
        self.send(&Message::Rejected { line, text })
    }

    /// How many bytes of the input are done.
    pub fn done(&mut self, bytes: u64) -> Result<()> {
        self.send(&Message::Done(bytes))?;
        self.out.flush().map_err(Error::Messages)
    }

    /// The log is damaged, as a whole.
    pub fn damaged(&mut self, what: &str) -> Result<()> {
        self.send(&Message::Damaged(what))?;
        self.out.flush().map_err(Error::Messages)
    }

    pub(super) fn summary(&mut self, summary: &impl Serialize) -> Result<()> {
        self.send(&Summary { summary })?;
        self.out.flush().map_err(Error::Messages)
    }

    fn send(&mut self, message: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.out, message)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(Error::Messages)
    }
}
