//! What a program asks of its results: `torch.allclose`, `assert_close`, and assertions about tensors.

use super::{
    HostPlace,
    interpret::{Host, reason},
    torch::Args,
    value::{Kind, Value},
};
use crate::{
    body::{ArgKind, Expr},
    items::chunk_body,
    program::{Check, Checked, Tolerance},
};

/// A function that compares two tensors.
struct Comparison {
    path: &'static str,
    /// Its arguments, the last two where they may stand by place.
    params: [&'static str; 4],
    /// The relative and the absolute difference that it allows where the call says only the other.
    usual: [f64; 2],
    /// It answers instead of raising.
    answers: bool,
}

const COMPARISONS: &[Comparison] = &[
    Comparison { path: "torch.allclose", params: ["input", "other", "rtol", "atol"], usual: [1e-5, 1e-8], answers: true },
    Comparison { path: "torch.equal", params: ["input", "other", "", ""], usual: [0.0, 0.0], answers: true },
    Comparison { path: "torch.testing.assert_close", params: ["actual", "expected", "", ""], usual: [0.0, 0.0], answers: false },
    Comparison {
        path: "torch.testing.assert_allclose",
        params: ["actual", "expected", "rtol", "atol"],
        usual: [0.0, 0.0],
        answers: false,
    },
    Comparison { path: "triton.testing.assert_close", params: ["x", "y", "atol", "rtol"], usual: [0.0, 1e-2], answers: false },
    Comparison {
        path: "numpy.testing.assert_allclose",
        params: ["actual", "desired", "rtol", "atol"],
        usual: [1e-7, 0.0],
        answers: false,
    },
    Comparison { path: "numpy.allclose", params: ["a", "b", "rtol", "atol"], usual: [1e-5, 1e-8], answers: true },
];
/// Checks of one file that are followed.
const MAX_CHECKS: usize = 512;

impl Host<'_> {
    /// A call that compares; `None` where `path` is no such function.
    pub(super) fn check(&mut self, path: &str, args: &Args) -> Option<Value> {
        let Comparison { params: [first, second, third, fourth], usual, answers, .. } =
            COMPARISONS.iter().find(|comparison| comparison.path == path)?;
        let answer = match answers {
            true => Value::some(Kind::Bool, "it is known when the program runs"),
            false => Value::NONE,
        };
        let (Some(left), Some(right), Some(place)) = (args.get(0, first), args.get(1, second), self.innermost_call()) else {
            return Some(answer);
        };
        let tolerance = |name: &str| {
            let at = [third, fourth].iter().position(|other| **other == name).map(|at| at + 2);
            at.and_then(|at| args.positional.get(at)).or_else(|| args.keyword(name)).and_then(Value::as_float)
        };
        let (relative, absolute) = (tolerance("rtol"), tolerance("atol"));
        let exactly = (path == "torch.equal").then_some(0.0);
        let (relative, absolute) = (relative.or(exactly), absolute.or(exactly));
        let tolerance = (relative.is_some() || absolute.is_some())
            .then(|| Tolerance { relative: relative.unwrap_or(usual[0]), absolute: absolute.unwrap_or(usual[1]) });
        let names = self.argument_texts(place);
        let what = match (left, right) {
            (Value::Tensor(l), Value::Tensor(r)) => {
                let (l, r) = (l.clone(), r.clone());
                match (self.contents(&l), self.contents(&r)) {
                    (Some(left), Some(right)) if left.shape == right.shape => Checked::Close { left, right, names, tolerance },
                    (Some(_), Some(_)) => Checked::Unknown("the shapes differ".into()),
                    (None, _) => Checked::Unknown(format!("what `{}` holds is not known", names[0]).into()),
                    (_, None) => Checked::Unknown(format!("what `{}` holds is not known", names[1]).into()),
                }
            }
            (Value::Tensor(_), other) | (other, _) => Checked::Unknown(reason(other, "what is compared").into()),
        };
        self.record_check(Check { place, what });
        Some(answer)
    }

    /// `assert` of a tensor.
    pub(super) fn asserted(&mut self, place: HostPlace, value: &Value, text: impl FnOnce() -> String) {
        if let Value::Tensor(t) = value
            && t.numel() == 1
            && let Some(view) = self.contents(&t.clone())
        {
            self.record_check(Check { place, what: Checked::Holds(view, without_parentheses(text())) });
        }
    }

    fn record_check(&mut self, check: Check) {
        let checks = &mut self.recorder.program.checks;
        if self.path_conditions.is_empty() && checks.len() < MAX_CHECKS {
            checks.push(check);
        }
    }

    /// The first two arguments of a call, as they are written.
    fn argument_texts(&self, place: HostPlace) -> [String; 2] {
        let mut texts = Vec::new();
        if let Some(body) = chunk_body(self.db, place.file, place.chunk)
            && let Expr::Call { args, .. } = body.expr(place.expr)
        {
            let given = args.iter().filter(|arg| matches!(arg.kind, ArgKind::Positional | ArgKind::Keyword(_)));
            texts = given.take(2).map(|arg| without_parentheses(body.text_of(arg.value))).collect();
        }
        texts.resize(2, "a tensor".to_owned());
        texts.try_into().unwrap_or_default()
    }
}

/// `(a + b)` as `a + b`.
fn without_parentheses(text: String) -> String {
    let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return text };
    let mut depth = 0i32;
    let closes_early = inner.chars().any(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    });
    if closes_early { text } else { inner.to_owned() }
}
