//! Operators of expressions. **Invariant:** each has one spelling, the one Python writes.

use std::fmt;

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $spelling:literal),* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            pub enum $name { $($variant),* }

            impl $name {
                pub fn as_str(self) -> &'static str {
                    match self { $($name::$variant => $spelling),* }
                }

                pub fn from_text(text: &str) -> Option<$name> {
                    match text { $($spelling => Some($name::$variant),)* _ => None }
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.as_str())
                }
            }
        )*
    };
}

operators! {
    UnaryOp { Neg "-", Pos "+", Invert "~", Not "not" }
    BinaryOp {
        Add "+", Sub "-", Mul "*", Div "/", FloorDiv "//", Mod "%", Pow "**", MatMul "@", BitAnd "&", BitOr "|", BitXor "^", Shl "<<",
        Shr ">>"
    }
    BoolOp { And "and", Or "or" }
    CompareOp { Lt "<", Gt ">", Le "<=", Ge ">=", Eq "==", Ne "!=", In "in", NotIn "not in", Is "is", IsNot "is not" }
}
