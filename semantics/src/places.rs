//! From the place of a problem to the text it stands for.
//!
//! **Invariant:** positions come from source maps alone, when somebody reads; nothing that is worked out without them asks here.

use std::ops::Range;

use tritium_syntax::TextRange;

use crate::{
    Db, SourceFile,
    body::SourceMap,
    items::{self, in_file},
    problem::{At, Place},
};

/// A range of the text that a place of a problem stands for.
pub fn range_of(db: &dyn Db, place: Place) -> Option<(SourceFile, Range<usize>)> {
    let (start, map) = items::source_map(db, place.function)?;
    Some((place.function.file(db), in_file(start, range_in(db, place, &map)?)))
}

/// The same, counted from the start of its chunk, which does not move with the text before it.
pub(crate) fn range_in_chunk(db: &dyn Db, place: Place) -> Option<((SourceFile, usize), TextRange)> {
    let (chunk, map) = items::map_in_chunk(db, place.function)?;
    Some(((place.function.file(db), chunk), range_in(db, place, &map)?))
}

fn range_in(db: &dyn Db, place: Place, map: &SourceMap) -> Option<TextRange> {
    let name_and_params = || {
        let (_, stmt) = items::function_body(db, place.function)?;
        map.functions.iter().find(|f| f.0 == stmt)
    };
    Some(match place.at {
        At::Expr(id) => *map.exprs.get(id.0 as usize)?,
        At::Argument(id) => match map.arguments.binary_search_by_key(&id, |(value, _)| *value) {
            Ok(index) => map.arguments[index].1,
            Err(_) => *map.exprs.get(id.0 as usize)?,
        },
        At::Stmt(id) => *map.stmts.get(id.0 as usize)?,
        At::Param(i) => *name_and_params()?.2.get(i as usize)?,
        At::Name => name_and_params()?.1,
    })
}
