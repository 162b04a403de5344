//! Statements of databases: which one a thread runs, by the functions that it is in (bpf/statement.h).

use std::collections::HashMap;
use std::path::PathBuf;

use iowhy_store::Result;
use iowhy_store::{rows, Name, Recording};
use sha2::{Digest, Sha256};

use super::statement_text::{normalised, whole};
use super::Collector;
use crate::event::{self, layout};

/// Statements that are kept apart; the rest count as one.
const MOST: usize = 5_000;
/// Statements of processes that are remembered by their address.
const MOST_PREPARED: usize = 65_536;
/// What was prepared before its function was probed.
const UNKNOWN: &str = "unknown";
const OTHERS: &str = "others";

#[derive(Default)]
pub struct Statements {
    keeps_texts: bool,
    /// Ids by texts as they are.
    ids: HashMap<Vec<u8>, Name>,
    /// Those of which a row was written.
    written: HashMap<Name, ()>,
    prepared: HashMap<(u32, u64), Name>,
    /// What sessions of servers are in.
    open: HashMap<u32, Name>,
    /// Of these, those whose run has begun with an earlier stretch.
    begun: HashMap<u32, Name>,
    /// Programs and libraries that were met, and may have functions of databases.
    pub met: Vec<PathBuf>,
}

impl Statements {
    pub fn new(keeps_texts: bool) -> Statements {
        Statements {
            keeps_texts,
            ..Statements::default()
        }
    }

    /// The row of a stretch; None when its record is cut off.
    pub fn add(&mut self, bytes: &[u8], recording: &mut Recording) -> Option<Result<()>> {
        let e: layout::Statement = event::read(bytes)?;
        let text = bytes
            .get(size_of::<layout::Statement>()..)?
            .get(..e.length as usize)?;
        Some(match e.header.flags & layout::STATEMENT_OF_SERVER {
            0 => self.of_library(&e, text, recording),
            _ => self.of_server(&e, text, recording),
        })
    }

    fn of_library(
        &mut self,
        e: &layout::Statement,
        text: &[u8],
        recording: &mut Recording,
    ) -> Result<()> {
        let place = (e.tgid, e.handle);
        if e.header.flags & layout::STATEMENT_PREPARED != 0 {
            let id = self.id("sqlite", "SQLite", text, recording)?;
            if self.prepared.len() < MOST_PREPARED || self.prepared.contains_key(&place) {
                self.prepared.insert(place, id);
            }
        }
        let id = match self.prepared.get(&place) {
            Some(id) => id.clone(),
            None => self.write(
                UNKNOWN.into(),
                "(prepared before it was watched)",
                None,
                "SQLite",
                recording,
            )?,
        };
        recording.push(row(e, id, e.header.flags & layout::STATEMENT_BEGINS != 0))
    }

    /// A session parses, binds and executes one after another: with one text it is one run.
    fn of_server(
        &mut self,
        e: &layout::Statement,
        text: &[u8],
        recording: &mut Recording,
    ) -> Result<()> {
        let tid = e.header.tid;
        if let Some(id) = self.open.remove(&tid).filter(|_| e.all > 0) {
            let begins = self.begun.get(&tid) != Some(&id);
            self.begun.insert(tid, id.clone());
            recording.push(row(e, id, begins))?;
        }
        if e.header.flags & layout::STATEMENT_BEGINS == 0 {
            self.begun.remove(&tid);
            return Ok(());
        }
        let id = self.id("postgresql", "PostgreSQL", text, recording)?;
        self.open.insert(tid, id);
        Ok(())
    }

    /// The id of a text, which is noted.
    fn id(
        &mut self,
        kind: &str,
        server: &'static str,
        text: &[u8],
        recording: &mut Recording,
    ) -> Result<Name> {
        if let Some(id) = self.ids.get(text) {
            return Ok(id.clone());
        }
        let as_it_is = String::from_utf8_lossy(text);
        let as_it_is = as_it_is.trim_matches(['\0', ' ', '\n', '\t']);
        let kept = normalised(as_it_is);
        let hash = Sha256::digest(format!("{kind}\0{}", kept.to_lowercase()));
        let id: String = hash[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let texts = self.keeps_texts.then(|| whole(as_it_is)).flatten();
        let id = match self.written.len() < MOST || self.written.contains_key(id.as_str()) {
            true => self.write(id.into(), &kept, texts, server, recording)?,
            false => self.write(OTHERS.into(), OTHERS, None, server, recording)?,
        };
        if self.ids.len() < MOST {
            self.ids.insert(text.to_owned(), id.clone());
        }
        Ok(id)
    }

    fn write(
        &mut self,
        id: Name,
        text: &str,
        whole_text: Option<String>,
        server: &'static str,
        recording: &mut Recording,
    ) -> Result<Name> {
        if self.written.insert(id.clone(), ()).is_none() {
            recording.push(rows::Statements {
                statement_id: id.clone(),
                text: text.to_owned().into(),
                whole_text: whole_text.map(Into::into),
                database: None,
                server: server.into(),
                memory_bytes: None,
            })?;
        }
        Ok(id)
    }
}

impl Collector {
    /// Statements of databases are kept, with their texts as they are where these are wanted.
    pub fn keep_statements(&mut self, texts: bool) {
        self.statements = Some(Statements::new(texts));
    }

    /// Programs and libraries that may have functions of databases, since this was last asked.
    pub fn take_met(&mut self) -> Vec<PathBuf> {
        let statements = self.statements.as_mut();
        statements.map_or_else(Vec::new, |s| std::mem::take(&mut s.met))
    }
}

fn row(e: &layout::Statement, statement_id: Name, begins: bool) -> rows::StatementCalls {
    rows::StatementCalls {
        ts_ns: e.ts as i64,
        dur_ns: e.dur as i64,
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        statement_id,
        begins,
        time_ns: e.all as i64,
        kernel_ns: e.kernel as i64,
        runnable_ns: e.runnable as i64,
        blocked_ns: e.blocked as i64,
        sleeping_ns: e.sleeping as i64,
    }
}
