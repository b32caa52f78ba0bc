" Tile IR and what looks like it.
if exists('b:current_syntax') | finish | endif
syntax match tritiumComment "//.*$"
syntax match tritiumOrigin " @\d\+\ze\( {\)\?\( else.*\)\?$"
syntax match tritiumValue "%[A-Za-z0-9_.$]\+"
syntax match tritiumSymbol "@[A-Za-z_]\w*"
syntax match tritiumLayout "#[A-Za-z]\w*"
syntax match tritiumType "\<\(i\|u\|bf\|tf\|f\)\d\+\>"
syntax match tritiumNumber "\<\d\+\(\.\d\+\)\?\>"
syntax keyword tritiumKeyword module func for if else while do yield return
highlight default link tritiumComment Comment
highlight default link tritiumOrigin NonText
highlight default link tritiumValue Identifier
highlight default link tritiumSymbol Function
highlight default link tritiumLayout Type
highlight default link tritiumType Type
highlight default link tritiumNumber Number
highlight default link tritiumKeyword Keyword
let b:current_syntax = 'tritium_tile'
