//! The text form of a module, read.
//!
//! **Invariant:** any text gives a module or the place of the first mistake, never a panic; what is read is numbered canonically
//! ([`crate::rewrite::compact`]), so equal texts give equal modules. It is not verified: [`crate::verify`] does that.

mod lexer;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use thiserror::Error;

use crate::{
    attributes::{self, Number, Visitor},
    layout::{Bases, Distributed, Layout, LayoutId, SharedLayout},
    libdevice::Symbol,
    module::{BlockId, Function, FunctionId, Level, Module, OpId, ValueId},
    names::{AXES, Named, UNDEFINED},
    ops::*,
    rewrite,
    types::{Elem, Scalar, Shape, Type},
    verify::MAX_NESTING,
};
use lexer::{Lexer, Place, Token};

/// The first mistake of a text; line and column count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut lexer = Lexer::new(text);
    let (place, token) = lexer.next()?;
    let mut parser = Parser { lexer, place, token, layouts: FxHashMap::default(), calls: Vec::new() };
    let mut module = parser.module()?;
    let mut names = FxHashMap::default();
    for (index, function) in module.functions.iter().enumerate() {
        names.entry(function.name.clone()).or_insert(FunctionId(index as u32));
    }
    for call in parser.calls {
        let Some(&callee) = names.get(&call.name) else {
            return Err(call.place.error(format!("no function is named `@{}`", call.name)));
        };
        module.functions[call.function].op_mut(call.op).kind = OpKind::Call { callee };
    }
    rewrite::compact_module(&mut module);
    Ok(module)
}

type Parse<T> = Result<T, ParseError>;

/// A call whose callee is found when all functions are known.
struct PendingCall {
    function: usize,
    op: OpId,
    name: String,
    place: Place,
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    place: Place,
    token: Token,
    layouts: FxHashMap<String, LayoutId>,
    calls: Vec<PendingCall>,
}

/// The function being read.
struct Body {
    index: usize,
    function: Function,
    values: FxHashMap<String, ValueId>,
}

/// An attribute as written, with its place.
enum Attribute {
    Flag,
    Word(String),
    List(SmallVec<[u32; 8]>),
}

struct Attributes(Vec<(String, Attribute, Place)>);

impl Attributes {
    fn take(&mut self, key: &str) -> Option<(Attribute, Place)> {
        let index = self.0.iter().position(|(k, ..)| k == key)?;
        let (_, value, place) = self.0.remove(index);
        Some((value, place))
    }

    fn flag(&mut self, key: &str) -> Parse<bool> {
        match self.take(key) {
            None => Ok(false),
            Some((Attribute::Flag, _)) => Ok(true),
            Some((_, place)) => Err(place.error(format!("`{key}` takes no value"))),
        }
    }

    fn number<T: TryFrom<u64>>(&mut self, key: &str) -> Parse<Option<T>> {
        match self.take(key) {
            None => Ok(None),
            Some((Attribute::Word(word), place)) => word
                .parse::<u64>()
                .ok()
                .and_then(|n| T::try_from(n).ok())
                .map(Some)
                .ok_or_else(|| place.error(format!("`{key}` takes a number in range, not `{word}`"))),
            Some((_, place)) => Err(place.error(format!("`{key}` takes a number: `{key}=0`"))),
        }
    }
}

/// Reads what an operation is given.
struct Reader<'a> {
    given: &'a mut Attributes,
    op: Place,
}

impl Visitor for Reader<'_> {
    type Error = ParseError;

    fn axis(&mut self, axis: &mut u8) -> Parse<()> {
        *axis = self.given.number("axis")?.ok_or_else(|| self.op.error("expected `axis=` and a number".into()))?;
        Ok(())
    }

    fn number<T: Number>(&mut self, key: &str, number: &mut T, default: T) -> Parse<()> {
        *number = self.given.number(key)?.unwrap_or(default);
        Ok(())
    }

    fn number_beside<T: Number>(&mut self, key: &str, number: &mut T, default: T) -> Parse<()> {
        self.number(key, number, default)
    }

    fn optional(&mut self, key: &str, number: &mut Option<u32>) -> Parse<()> {
        *number = self.given.number(key)?;
        Ok(())
    }

    fn flag(&mut self, key: &str, flag: &mut bool) -> Parse<()> {
        *flag = self.given.flag(key)?;
        Ok(())
    }

    fn name<T: Named + Default>(&mut self, key: &str, name: &mut T) -> Parse<()> {
        let one_of = || T::all().iter().map(|t| t.spelling()).collect::<Vec<_>>().join(", ");
        *name = match self.given.take(key) {
            None => T::default(),
            Some((Attribute::Word(word), place)) => T::all()
                .iter()
                .copied()
                .find(|t| t.spelling() == word)
                .ok_or_else(|| place.error(format!("`{key}` is one of {}, not `{word}`", one_of())))?,
            Some((_, place)) => return Err(place.error(format!("`{key}` takes one of {}", one_of()))),
        };
        Ok(())
    }

    fn numbers<A: smallvec::Array>(&mut self, key: &str, numbers: &mut SmallVec<A>) -> Parse<()>
    where
        A::Item: Number,
    {
        let Some((Attribute::List(list), place)) = self.given.take(key) else {
            return Err(self.op.error(format!("expected `{key}=[…]`")));
        };
        for number in list {
            let read = A::Item::try_from(number.into());
            numbers.push(read.map_err(|_| place.error(format!("`{key}` takes numbers in range, not {number}")))?);
        }
        Ok(())
    }
}

impl Parser<'_> {
    // ---- tokens

    fn advance(&mut self) -> Parse<Token> {
        let (place, token) = self.lexer.next()?;
        self.place = place;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn expected<T>(&self, what: &str) -> Parse<T> {
        Err(self.place.error(format!("expected {what}, found {}", self.token)))
    }

    fn at(&self, punctuation: char) -> bool {
        self.token == Token::Punctuation(punctuation)
    }

    fn eat(&mut self, punctuation: char) -> Parse<bool> {
        let found = self.at(punctuation);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punctuation: char) -> Parse<()> {
        if self.eat(punctuation)? { Ok(()) } else { self.expected(&format!("`{punctuation}`")) }
    }

    fn at_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(w) if w == word)
    }

    fn word(&mut self, what: &str) -> Parse<String> {
        match &self.token {
            Token::Word(_) => match self.advance()? {
                Token::Word(word) => Ok(word),
                _ => self.expected(what),
            },
            _ => self.expected(what),
        }
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Parse<T> {
        match &self.token {
            Token::Word(word) => match word.parse() {
                Ok(number) => {
                    self.advance()?;
                    Ok(number)
                }
                Err(_) => self.expected(what),
            },
            _ => self.expected(what),
        }
    }

    fn text(&mut self, what: &str) -> Parse<String> {
        match &self.token {
            Token::Text(_) => match self.advance()? {
                Token::Text(text) => Ok(text),
                _ => self.expected(what),
            },
            _ => self.expected(&format!("{what}: `\"text\"`")),
        }
    }

    fn end_of_line(&mut self) -> Parse<()> {
        match self.token {
            Token::Newline => self.newlines(),
            Token::End => Ok(()),
            _ => self.expected("the end of the line"),
        }
    }

    fn newlines(&mut self) -> Parse<()> {
        while self.token == Token::Newline {
            self.advance()?;
        }
        Ok(())
    }

    // ---- the module

    fn module(&mut self) -> Parse<Module> {
        self.newlines()?;
        if !self.at_word("module") {
            return self.expected("`module` and a level");
        }
        self.advance()?;
        let Some(level) = (match &self.token {
            Token::Word(word) => Level::from_name(word),
            _ => None,
        }) else {
            return self.expected("a level: L0, L1 or L2");
        };
        self.advance()?;
        let mut module = Module::new(level);
        let mut attributes = self.attributes()?;
        module.num_warps = attributes.number("num_warps")?.unwrap_or(0);
        module.shared_bytes = attributes.number("shared_bytes")?;
        self.no_more(&attributes)?;
        self.end_of_line()?;
        loop {
            match &self.token {
                Token::Layout(_) => self.layout(&mut module)?,
                Token::Word(word) if word == "func" => {
                    let function = self.function(module.functions.len())?;
                    module.functions.push(function);
                }
                Token::End => return Ok(module),
                _ => return self.expected("`func`, a layout or the end of the text"),
            }
            self.end_of_line()?;
        }
    }

    fn layout(&mut self, module: &mut Module) -> Parse<()> {
        let place = self.place;
        let Token::Layout(name) = self.advance()? else { return self.expected("a layout") };
        self.expect('=')?;
        let distributed = match &self.token {
            Token::Word(word) if word == "distributed" => true,
            Token::Word(word) if word == "shared" => false,
            _ => return self.expected("`distributed` or `shared`"),
        };
        self.advance()?;
        self.expect('{')?;
        let layout = if distributed {
            Layout::Distributed(Distributed {
                shape: Shape::from_iter(self.named_list("shape")?),
                register: self.named_list("register")?,
                lane: self.named_list("lane")?,
                warp: self.named_list("warp")?,
            })
        } else {
            Layout::Shared(SharedLayout {
                shape: Shape::from_iter(self.named_list("shape")?),
                offset: self.named_list("offset")?,
            })
        };
        self.expect('}')?;
        let id = module.layouts.intern(layout);
        if self.layouts.values().any(|&other| other == id) {
            return Err(place.error(format!("`#{name}` repeats a layout; name each layout once")));
        }
        if self.layouts.insert(name.clone(), id).is_some() {
            return Err(place.error(format!("`#{name}` is defined twice")));
        }
        Ok(())
    }

    fn named_list(&mut self, name: &str) -> Parse<Bases> {
        if !self.at_word(name) {
            return self.expected(&format!("`{name}=[…]`"));
        }
        self.advance()?;
        self.expect('=')?;
        self.list()
    }

    fn list(&mut self) -> Parse<Bases> {
        self.expect('[')?;
        let mut list = Bases::new();
        while !self.at(']') {
            if !list.is_empty() {
                self.expect(',')?;
            }
            list.push(self.number("a number")?);
        }
        self.advance()?;
        Ok(list)
    }

    // ---- functions

    fn function(&mut self, index: usize) -> Parse<Function> {
        self.advance()?;
        let name = match &self.token {
            Token::At(_) => match self.advance()? {
                Token::At(name) => name,
                _ => return self.expected("a function's name"),
            },
            _ => return self.expected("a function's name: `@name`"),
        };
        let mut body = Body { index, function: Function::new(name), values: FxHashMap::default() };
        self.expect('(')?;
        while !self.at(')') {
            if !body.function.params.is_empty() {
                self.expect(',')?;
            }
            let (name, place) = self.value_name()?;
            self.expect(':')?;
            let ty = self.ty()?;
            let mut divisibility = 1;
            if self.eat('{')? {
                let mut attributes = self.attributes()?;
                divisibility = attributes.number("div")?.unwrap_or(1);
                self.no_more(&attributes)?;
                self.expect('}')?;
            }
            let value = body.function.add_param(name.clone(), ty, divisibility);
            define(&mut body, name, value, place)?;
        }
        self.advance()?;
        if self.token == Token::Arrow {
            self.advance()?;
            body.function.results.push(self.ty()?);
            while self.eat(',')? {
                let ty = self.ty()?;
                body.function.results.push(ty);
            }
        }
        self.expect('{')?;
        self.end_of_line()?;
        let block = body.function.body;
        self.ops(&mut body, block, 0)?;
        self.expect('}')?;
        Ok(body.function)
    }

    fn value_name(&mut self) -> Parse<(String, Place)> {
        let place = self.place;
        match &self.token {
            Token::Value(_) => match self.advance()? {
                Token::Value(name) => Ok((name, place)),
                _ => self.expected("a value"),
            },
            _ => self.expected("a value: `%name`"),
        }
    }

    fn operand(&mut self, body: &Body) -> Parse<ValueId> {
        let (name, place) = self.value_name()?;
        body.values.get(&name).copied().ok_or_else(|| place.error(format!("`%{name}` is not defined above")))
    }

    fn ty(&mut self) -> Parse<Type> {
        let shared = self.at_word("shared");
        if shared {
            self.advance()?;
        }
        let pointer = !shared && self.eat('*')?;
        let Some(scalar) = (match &self.token {
            Token::Word(word) => Scalar::from_name(word),
            _ => None,
        }) else {
            return self.expected("a type");
        };
        self.advance()?;
        let mut shape = Shape::new();
        let mut layout = None;
        if self.eat('[')? {
            let mut first = true;
            while !self.at(']') {
                if !first {
                    self.expect(',')?;
                }
                first = false;
                if let Token::Layout(name) = &self.token {
                    match self.layouts.get(name) {
                        Some(&id) => layout = Some(id),
                        None => return self.expected("a layout that is defined above"),
                    }
                    self.advance()?;
                    break;
                }
                shape.push(self.number("an extent or a layout")?);
            }
            self.expect(']')?;
        }
        match (shared, layout) {
            (true, Some(layout)) => Ok(Type::Shared { elem: scalar, shape, layout }),
            (true, None) => self.expected("a shared buffer's type to name its layout: `shared f16[64, #l0]`"),
            (false, layout) => {
                let elem = if pointer { Elem::Ptr(scalar) } else { Elem::Scalar(scalar) };
                Ok(Type::Tile { elem, shape, layout })
            }
        }
    }

    /// `key`, `key=word`, `key=[list]`, as many as there are.
    fn attributes(&mut self) -> Parse<Attributes> {
        let mut attributes: Vec<(String, Attribute, Place)> = Vec::new();
        while let Token::Word(_) = self.token {
            let place = self.place;
            let key = self.word("an attribute")?;
            let value = if !self.eat('=')? {
                Attribute::Flag
            } else if self.at('[') {
                Attribute::List(self.list()?)
            } else {
                Attribute::Word(self.word("the attribute's value")?)
            };
            if attributes.iter().any(|(k, ..)| *k == key) {
                return Err(place.error(format!("`{key}` is given twice")));
            }
            attributes.push((key, value, place));
        }
        Ok(Attributes(attributes))
    }

    fn no_more(&self, attributes: &Attributes) -> Parse<()> {
        match attributes.0.first() {
            Some((key, _, place)) => Err(place.error(format!("`{key}` is not an attribute here"))),
            None => Ok(()),
        }
    }

    fn ops(&mut self, body: &mut Body, block: BlockId, depth: usize) -> Parse<()> {
        if depth > MAX_NESTING {
            return Err(self.place.error(format!("regions nest deeper than {MAX_NESTING}")));
        }
        while !self.at('}') {
            let op = self.op(body, depth)?;
            body.function.block_mut(block).ops.push(op);
            self.end_of_line()?;
            if self.token == Token::End {
                return self.expected("`}`");
            }
        }
        Ok(())
    }

    fn op(&mut self, body: &mut Body, depth: usize) -> Parse<OpId> {
        let mut results = Vec::new();
        if matches!(self.token, Token::Value(_)) {
            results.push(self.value_name()?);
            while self.eat(',')? {
                results.push(self.value_name()?);
            }
            self.expect('=')?;
        }
        let place = self.place;
        let name = self.word("an operation")?;
        let Some(mut kind) = OpKind::from_name(&name) else {
            return Err(place.error(format!("`{name}` is not an operation")));
        };
        self.positional(body, &mut kind)?;
        let mut operands = SmallVec::<[ValueId; 4]>::new();
        if matches!(self.token, Token::Value(_)) || self.eat(',')? {
            operands.push(self.operand(body)?);
            while self.eat(',')? {
                operands.push(self.operand(body)?);
            }
        }
        let mut attributes = self.attributes()?;
        attributes::visit(&mut kind, &mut Reader { given: &mut attributes, op: place })?;
        let shared_offset = attributes.number("shared_offset")?;
        self.no_more(&attributes)?;
        let mut types = Vec::new();
        if self.at(':') || !results.is_empty() {
            self.expect(':')?;
            types.push(self.ty()?);
            while self.eat(',')? {
                types.push(self.ty()?);
            }
        }
        if types.len() != results.len() {
            return Err(place.error(format!("`{name}` has {} results but {} types", results.len(), types.len())));
        }
        let mut origin = Origin::NONE;
        if let Token::At(text) = &self.token {
            match text.parse() {
                Ok(number) => origin = Origin(number),
                Err(_) => return self.expected("an origin: `@` and a number"),
            }
            self.advance()?;
        }
        let id = body.function.create_op(kind, &operands, types, &[], origin);
        body.function.op_mut(id).shared_offset = shared_offset;
        if let Some(call) = self.calls.last_mut().filter(|c| c.op == OpId(u32::MAX)) {
            call.op = id;
        }
        for (index, (name, place)) in results.into_iter().enumerate() {
            let value = body.function.op(id).results[index];
            define(body, name, value, place)?;
        }
        while self.at('{') || (self.at_word("else") || self.at_word("do")) && !body.function.op(id).regions.is_empty() {
            if !self.at('{') {
                self.advance()?;
            }
            let region = self.region(body, depth)?;
            body.function.op_mut(id).regions.push(region);
        }
        Ok(id)
    }

    fn region(&mut self, body: &mut Body, depth: usize) -> Parse<BlockId> {
        self.expect('{')?;
        self.end_of_line()?;
        let block = body.function.add_block();
        if self.eat('^')? {
            self.expect('(')?;
            while !self.at(')') {
                if !body.function.block(block).args.is_empty() {
                    self.expect(',')?;
                }
                let (name, place) = self.value_name()?;
                self.expect(':')?;
                let ty = self.ty()?;
                let value = body.function.add_block_arg(block, ty);
                define(body, name, value, place)?;
            }
            self.advance()?;
            self.expect(':')?;
            self.end_of_line()?;
        }
        self.ops(body, block, depth + 1)?;
        self.expect('}')?;
        Ok(block)
    }

    /// What stands between the name and the operands.
    fn positional(&mut self, body: &Body, kind: &mut OpKind) -> Parse<()> {
        match kind {
            OpKind::Constant(value) => {
                let Token::Word(word) = &self.token else { return self.expected("a number") };
                let Some(read) = constant(word) else { return self.expected("a number") };
                self.advance()?;
                *value = read;
            }
            OpKind::ProgramId { axis } | OpKind::NumPrograms { axis } => {
                let read = match &self.token {
                    Token::Word(word) => AXES.iter().position(|a| a == word),
                    _ => None,
                };
                let Some(read) = read else { return self.expected("an axis: x, y or z") };
                self.advance()?;
                *axis = read as u8;
            }
            OpKind::Iota { start, end } => {
                *start = self.number("the first number")?;
                self.expect(',')?;
                *end = self.number("the number behind the last")?;
            }
            OpKind::Call { callee: _ } => {
                let place = self.place;
                match &self.token {
                    Token::At(_) => {
                        let Token::At(name) = self.advance()? else { return self.expected("a callee") };
                        self.calls.push(PendingCall { function: body.index, op: OpId(u32::MAX), name, place });
                    }
                    _ => return self.expected("a callee: `@name`"),
                }
            }
            OpKind::Assert { message } => *message = self.text("a message")?,
            OpKind::Print { prefix, .. } => *prefix = self.text("a prefix")?,
            OpKind::Libdevice(symbol) => {
                let place = self.place;
                let name = self.text("a function of the device library")?;
                let read = Symbol::from_name(&name);
                *symbol = read.ok_or_else(|| place.error(format!("the device library has no `{name}`")))?;
            }
            OpKind::InlineAsm(asm) => {
                asm.asm = self.text("instructions")?;
                self.expect(',')?;
                asm.constraints = self.text("constraints")?;
            }
            OpKind::SpecialRegister(register) => {
                let read = match &self.token {
                    Token::Word(word) => SpecialRegister::from_name(word),
                    _ => None,
                };
                let Some(read) = read else { return self.expected("a special register: globaltimer or smid") };
                self.advance()?;
                *register = read;
            }
            _ => {}
        }
        Ok(())
    }
}

fn define(body: &mut Body, name: String, value: ValueId, place: Place) -> Parse<()> {
    if body.values.contains_key(&name) {
        return Err(place.error(format!("`%{name}` is defined twice in this function")));
    }
    body.values.insert(name, value);
    Ok(())
}

/// A float has a point or an exponent, or is `inf`, `-inf`, `nan`, `nan.<bits>`.
fn constant(word: &str) -> Option<Constant> {
    if word == UNDEFINED {
        return Some(Constant::Undefined);
    }
    if let Ok(int) = word.parse() {
        return Some(Constant::Int(int));
    }
    if let Some(bits) = word.strip_prefix("nan.") {
        let value = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
        return value.is_nan().then_some(Constant::Float(value));
    }
    let value = match word {
        "nan" => f64::NAN,
        "inf" => f64::INFINITY,
        "-inf" => f64::NEG_INFINITY,
        _ if word.contains(['.', 'e']) && word.ends_with(|c: char| c.is_ascii_digit()) => word.parse().ok()?,
        _ => return None,
    };
    Some(Constant::Float(value))
}
