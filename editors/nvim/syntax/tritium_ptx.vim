" PTX and SASS.
if exists('b:current_syntax') | finish | endif
syntax match tritiumOpcode "^\s*\(@!\?%\?\w\+\s\+\)\?\zs[a-z][a-z0-9]*\ze[. \t]"
syntax match tritiumOpcode "\<[A-Z][A-Z0-9]\+\ze[. ]"
syntax match tritiumDirective "^\s*\.\w\+"
syntax match tritiumModifier "\.[a-zA-Z]\w*\(::\w\+\)\?"
syntax match tritiumRegister "%\w\+\(\.\w\+\)\?\|\<U\?[RP]\(\d\+\|Z\|T\)\>"
syntax match tritiumNumber "\<\(0[xfd]\x\+\|\d\+\)\>"
syntax match tritiumLabel "^\.\?\$\?[A-Za-z_$][A-Za-z0-9_$.]*:"
syntax match tritiumPlace "^\s*\.\(loc\|file\|section\)\>.*$"
syntax match tritiumComment "//.*$"
syntax region tritiumComment start="/\*" end="\*/"
highlight default link tritiumOpcode Function
highlight default link tritiumDirective Keyword
highlight default link tritiumModifier Type
highlight default link tritiumRegister Identifier
highlight default link tritiumNumber Number
highlight default link tritiumLabel Label
highlight default link tritiumPlace Comment
highlight default link tritiumComment Comment
let b:current_syntax = 'tritium_ptx'
