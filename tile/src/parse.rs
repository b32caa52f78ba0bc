//! The text form of a module, read.
//!
//! **Invariant:** any text gives a module or the place of the first mistake, never a panic; what is read is numbered canonically
//! ([`crate::rewrite::compact`]), so equal texts give equal modules. It is not verified: [`crate::verify`] does that.

mod lexer;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use thiserror::Error;

use crate::{
    layout::{Bases, Distributed, Layout, LayoutId, SharedLayout},
    libdevice::Symbol,
    module::{BlockId, Function, FunctionId, Level, Module, OpId, ValueId},
    names::AXES,
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

    fn axis(&mut self, place: Place) -> Parse<u8> {
        self.number("axis")?.ok_or_else(|| place.error("expected `axis=` and a number".into()))
    }

    fn name<T: Copy>(&mut self, key: &str, all: &[T], name: fn(T) -> &'static str, default: T) -> Parse<T> {
        let one_of = || all.iter().map(|&t| name(t)).collect::<Vec<_>>().join(", ");
        match self.take(key) {
            None => Ok(default),
            Some((Attribute::Word(word), place)) => all
                .iter()
                .copied()
                .find(|&t| name(t) == word)
                .ok_or_else(|| place.error(format!("`{key}` is one of {}, not `{word}`", one_of()))),
            Some((_, place)) => Err(place.error(format!("`{key}` takes one of {}", one_of()))),
        }
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
        let mut kind = match Self::plain_kind(&name) {
            Some(kind) => kind,
            None => self.positional_kind(body, &name, place)?,
        };
        let mut operands = SmallVec::<[ValueId; 4]>::new();
        if matches!(self.token, Token::Value(_)) || self.eat(',')? {
            operands.push(self.operand(body)?);
            while self.eat(',')? {
                operands.push(self.operand(body)?);
            }
        }
        let mut attributes = self.attributes()?;
        Self::read_attributes(&mut kind, &mut attributes, place)?;
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

    /// Kinds that are their name, up to attributes behind the operands.
    fn plain_kind(name: &str) -> Option<OpKind> {
        if let Some(op) = UnaryOp::from_name(name) {
            return Some(OpKind::Unary(op));
        }
        if let Some(op) = BinaryOp::from_name(name) {
            return Some(OpKind::Binary(op));
        }
        if let Some(op) = Predicate::from_name(name) {
            return Some(OpKind::Compare(op));
        }
        if let Some(what) = PromiseOp::from_name(name) {
            return Some(OpKind::Promise { what, values: SmallVec::new() });
        }
        if let Some(op) = CastOp::from_name(name) {
            return Some(OpKind::Cast(op));
        }
        if let Some(op) = AtomicOp::from_name(name) {
            return Some(OpKind::AtomicRmw { op, sem: MemSem::default(), scope: MemScope::default() });
        }
        Some(match name {
            "splat" => OpKind::Splat,
            "expand_dims" => OpKind::ExpandDims { axis: 0 },
            "broadcast" => OpKind::Broadcast,
            "reshape" => OpKind::Reshape { reorder: false },
            "transpose" => OpKind::Transpose { order: SmallVec::new() },
            "select" => OpKind::Select,
            "fma" => OpKind::Fma,
            "addptr" => OpKind::AddPtr,
            "assume" => OpKind::Assume,
            "map" => OpKind::Map { pack: 1 },
            "atomic.cas" => OpKind::AtomicCas { sem: MemSem::default(), scope: MemScope::default() },
            "gather" => OpKind::Gather { axis: 0 },
            "histogram" => OpKind::Histogram,
            "load" => OpKind::Load(LoadAttrs::default()),
            "store" => OpKind::Store(StoreAttrs::default()),
            "reduce" => OpKind::Reduce { axis: 0 },
            "scan" => OpKind::Scan { axis: 0, reverse: false },
            "dot" => OpKind::Dot { precision: DotPrecision::default() },
            "for" => OpKind::For(LoopAttrs::default()),
            "while" => OpKind::While,
            "if" => OpKind::If,
            "yield" => OpKind::Yield,
            "condition" => OpKind::Condition,
            "return" => OpKind::Return,
            "convert_layout" => OpKind::ConvertLayout,
            "local_alloc" => OpKind::LocalAlloc,
            "local_index" => OpKind::LocalIndex,
            "local_load" => OpKind::LocalLoad,
            "local_store" => OpKind::LocalStore,
            "barrier" => OpKind::Barrier,
            "grid_wait" => OpKind::GridWait,
            "grid_launch" => OpKind::GridLaunch,
            "async_copy" => OpKind::AsyncCopy(AsyncCopyAttrs::default()),
            "async_commit" => OpKind::AsyncCommit,
            "async_wait" => OpKind::AsyncWait { pending: 0 },
            "fence_async" => OpKind::FenceAsync,
            "mbarrier_init" => OpKind::MbarrierInit { count: 1 },
            "mbarrier_wait" => OpKind::MbarrierWait,
            "mbarrier_invalidate" => OpKind::MbarrierInvalidate,
            "tma_load" => OpKind::TmaLoad { contiguous: 0 },
            "wgmma" => OpKind::Wgmma { turned: [false; 2] },
            "wgmma_wait" => OpKind::WgmmaWait { pending: 0 },
            _ => return None,
        })
    }

    /// Kinds with something between their name and their operands.
    fn positional_kind(&mut self, body: &Body, name: &str, place: Place) -> Parse<OpKind> {
        match name {
            "constant" => {
                let Token::Word(word) = &self.token else { return self.expected("a number") };
                let Some(constant) = constant(word) else { return self.expected("a number") };
                self.advance()?;
                Ok(OpKind::Constant(constant))
            }
            "program_id" | "num_programs" => {
                let axis = match &self.token {
                    Token::Word(word) => AXES.iter().position(|a| a == word),
                    _ => None,
                };
                let Some(axis) = axis.map(|axis| axis as u8) else { return self.expected("an axis: x, y or z") };
                self.advance()?;
                Ok(if name == "program_id" { OpKind::ProgramId { axis } } else { OpKind::NumPrograms { axis } })
            }
            "iota" => {
                let start = self.number("the first number")?;
                self.expect(',')?;
                let end = self.number("the number behind the last")?;
                Ok(OpKind::Iota { start, end })
            }
            "call" => {
                let place = self.place;
                match &self.token {
                    Token::At(_) => {
                        let Token::At(name) = self.advance()? else { return self.expected("a callee") };
                        self.calls.push(PendingCall { function: body.index, op: OpId(u32::MAX), name, place });
                        Ok(OpKind::Call { callee: FunctionId(u32::MAX) })
                    }
                    _ => self.expected("a callee: `@name`"),
                }
            }
            "assert" => Ok(OpKind::Assert { message: self.text("a message")? }),
            "print" => Ok(OpKind::Print { prefix: self.text("a prefix")?, hex: false, signed: 0 }),
            "libdevice" => {
                let place = self.place;
                let name = self.text("a function of the device library")?;
                let symbol = Symbol::from_name(&name);
                symbol.map(OpKind::Libdevice).ok_or_else(|| place.error(format!("the device library has no `{name}`")))
            }
            "inline_asm" => {
                let asm = self.text("instructions")?;
                self.expect(',')?;
                let constraints = self.text("constraints")?;
                Ok(OpKind::InlineAsm(Box::new(InlineAsm { asm, constraints, pure: true, pack: 1 })))
            }
            "special_register" => {
                let register = match &self.token {
                    Token::Word(word) => SpecialRegister::from_name(word),
                    _ => None,
                };
                let Some(register) = register else { return self.expected("a special register: globaltimer or smid") };
                self.advance()?;
                Ok(OpKind::SpecialRegister(register))
            }
            _ => Err(place.error(format!("`{name}` is not an operation"))),
        }
    }

    fn read_attributes(kind: &mut OpKind, given: &mut Attributes, place: Place) -> Parse<()> {
        match kind {
            OpKind::ExpandDims { axis } | OpKind::Reduce { axis } | OpKind::Gather { axis } => *axis = given.axis(place)?,
            OpKind::Scan { axis, reverse } => {
                *axis = given.axis(place)?;
                *reverse = given.flag("reverse")?;
            }
            OpKind::Reshape { reorder } => *reorder = given.flag("reorder")?,
            OpKind::Transpose { order } => match given.take("order") {
                Some((Attribute::List(list), place)) => {
                    for axis in list {
                        order.push(u8::try_from(axis).map_err(|_| place.error(format!("{axis} is no axis")))?);
                    }
                }
                _ => return Err(place.error("expected `order=[…]`".into())),
            },
            OpKind::Promise { what: _, values } => match given.take("values") {
                Some((Attribute::List(list), _)) => {
                    values.extend(list);
                }
                _ => return Err(place.error("expected `values=[…]`".into())),
            },
            OpKind::Load(attrs) => {
                attrs.vector = given.number("vector")?.unwrap_or(0);
                attrs.cache = given.name("cache", CacheOp::ALL, CacheOp::name, CacheOp::default())?;
                attrs.eviction = given.name("eviction", Eviction::ALL, Eviction::name, Eviction::default())?;
                attrs.volatile = given.flag("volatile")?;
            }
            OpKind::Store(attrs) => {
                attrs.vector = given.number("vector")?.unwrap_or(0);
                attrs.cache = given.name("cache", CacheOp::ALL, CacheOp::name, CacheOp::default())?;
                attrs.eviction = given.name("eviction", Eviction::ALL, Eviction::name, Eviction::default())?;
            }
            OpKind::AsyncCopy(attrs) => {
                attrs.vector = given.number("vector")?.unwrap_or(0);
                attrs.cache = given.name("cache", CacheOp::ALL, CacheOp::name, CacheOp::default())?;
                attrs.eviction = given.name("eviction", Eviction::ALL, Eviction::name, Eviction::default())?;
            }
            OpKind::AsyncWait { pending } => *pending = given.number("pending")?.unwrap_or(0),
            OpKind::AtomicRmw { op: _, sem, scope } | OpKind::AtomicCas { sem, scope } => {
                *sem = given.name("sem", MemSem::ALL, MemSem::name, MemSem::default())?;
                *scope = given.name("scope", MemScope::ALL, MemScope::name, MemScope::default())?;
            }
            OpKind::InlineAsm(asm) => {
                asm.pack = given.number("pack")?.unwrap_or(1);
                asm.pure = !given.flag("impure")?;
            }
            OpKind::Map { pack } => *pack = given.number("pack")?.unwrap_or(1),
            OpKind::Print { prefix: _, hex, signed } => {
                *signed = given.number("signed")?.unwrap_or(0);
                *hex = given.flag("hex")?;
            }
            OpKind::Dot { precision } => {
                *precision = given.name("precision", DotPrecision::ALL, DotPrecision::name, DotPrecision::default())?;
            }
            OpKind::Wgmma { turned } => *turned = [given.flag("turn_a")?, given.flag("turn_b")?],
            OpKind::MbarrierInit { count } => *count = given.number("count")?.unwrap_or(1),
            OpKind::TmaLoad { contiguous } => *contiguous = given.number("contiguous")?.unwrap_or(0),
            OpKind::WgmmaWait { pending } => *pending = given.number("pending")?.unwrap_or(0),
            OpKind::For(attrs) => {
                attrs.num_stages = given.number("num_stages")?;
                attrs.stages = given.number("stages")?;
                attrs.unroll = given.number("unroll")?;
                attrs.flatten = given.flag("flatten")?;
                attrs.disallow_acc_multi_buffer = given.flag("disallow_acc_multi_buffer")?;
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
