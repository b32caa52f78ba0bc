-- Beside real pyright and ruff, in one Neovim: what is said twice, and what a file without Triton costs.
-- **Everything is counted over all names of the files, and every count is printed**; with TRITIUM_RESULTS the figures are written there.
--   nvim --clean -u init.lua --headless -c 'luafile coexistence.lua'    with TRITIUM_PYTHON_SERVERS and what run.lua needs set

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
local t = dofile(here .. '/checks.lua')
local check, edit, expect, go, lines, wait = t.check, t.edit, t.expect, t.go, t.lines, t.wait
local servers = vim.env.TRITIUM_PYTHON_SERVERS
local figures = {}

vim.lsp.config('pyright', { cmd = { servers .. '/node_modules/.bin/pyright-langserver', '--stdio' }, filetypes = { 'python' }, root_markers = { '.git' } })
vim.lsp.config('ruff', { cmd = { servers .. '/bin/ruff', 'server' }, filetypes = { 'python' }, root_markers = { '.git' } })
vim.lsp.enable({ 'pyright', 'ruff' })

local NAMES = { 'tritium', 'pyright', 'ruff' }
local KERNELS = { 'scale.py', 'softmax.py', 'tuned.py', 'blocks.py', 'broken.py' }

local function client(buffer, name)
  return wait(name .. ' is attached', function()
    local found = vim.lsp.get_clients({ bufnr = buffer, name = name })[1]
    return found and found.initialized and found
  end)
end

--- Opens a file and waits until all three have looked at it.
local function open(name)
  local buffer = edit(name)
  for _, one in ipairs(NAMES) do
    client(buffer, one)
  end
  -- The first answer to this comes after the file has been read and analysed.
  go(buffer, 'def ', 4)
  for _, one in ipairs(NAMES) do
    if client(buffer, one):supports_method('textDocument/hover', buffer) then
      t.request(client(buffer, one), 'textDocument/hover', vim.lsp.util.make_position_params(0, client(buffer, one).offset_encoding), buffer)
    end
  end
  return buffer
end

--- What one server answers to a request at a place; nothing where it does not offer it.
local function answer(buffer, name, method, row, column)
  local server = client(buffer, name)
  if not server:supports_method(method, buffer) then
    return nil
  end
  local text = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    position = { line = row, character = vim.str_utfindex(text, server.offset_encoding, column) },
  }
  return t.request(server, method, params, buffer)
end

--- Every name of a file: row, column, text; all 0-based. Comments and strings have names too: they are asked about as well.
local function identifiers(buffer)
  local all = {}
  for row, text in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    for column, word in text:gmatch('()([%a_][%w_]*)') do
      table.insert(all, { row = row - 1, column = column - 1, word = word })
    end
  end
  return all
end

local function count(result)
  return result and (vim.islist(result) and #result or 1) or 0
end

local function overlap(a, b)
  return not (a.end_lnum < b.lnum or b.end_lnum < a.lnum or (a.end_lnum == b.lnum and a.end_col <= b.col) or (b.end_lnum == a.lnum and b.end_col <= a.col))
end

local function figure(what, value)
  table.insert(figures, { what, tostring(value) })
  t.say(('     %s: %s'):format(what, value))
end

check('three servers stand side by side', function()
  local buffer = open('scale.py')
  expect(#vim.lsp.get_clients({ bufnr = buffer }) == 3, 'three are attached')
end)

check('no definition is given twice', function()
  local asked, ours, theirs, both = 0, 0, 0, {}
  for _, name in ipairs(KERNELS) do
    local buffer = open(name)
    for _, at in ipairs(identifiers(buffer)) do
      asked = asked + 1
      local own = count(answer(buffer, 'tritium', 'textDocument/definition', at.row, at.column))
      local other = count(answer(buffer, 'pyright', 'textDocument/definition', at.row, at.column))
      ours, theirs = ours + math.min(own, 1), theirs + math.min(other, 1)
      if own > 0 and other > 0 then
        table.insert(both, ('%s:%d %s'):format(name, at.row + 1, at.word))
      end
    end
  end
  figure('names asked for their definition', asked)
  figure('definitions by Tritium alone', ours)
  figure('definitions by pyright', theirs)
  figure('definitions by both', #both)
  expect(ours > 0 and theirs > 0, 'both answer somewhere')
  expect(#both == 0, vim.inspect(both))
end)

check('no completion is offered twice', function()
  local asked, ours, items, both = 0, 0, 0, {}
  local function texts(result)
    local all = {}
    for _, item in ipairs(result and (result.items or result) or {}) do
      -- What would stand in the text, and what the list shows.
      all[item.label] = true
      all[(item.textEdit and item.textEdit.newText) or item.insertText or item.label] = true
    end
    return all
  end
  local function ask(buffer, name, row, column)
    asked = asked + 1
    local own = texts(answer(buffer, 'tritium', 'textDocument/completion', row, column))
    if vim.tbl_isempty(own) then
      return
    end
    ours = ours + 1
    local others = {}
    for _, other in ipairs({ 'pyright', 'ruff' }) do
      others = vim.tbl_extend('force', others, texts(answer(buffer, other, 'textDocument/completion', row, column)))
    end
    for text in pairs(own) do
      items = items + 1
      if others[text] then
        table.insert(both, ('%s:%d %s'):format(name, row + 1, text))
      end
    end
  end
  -- After every character that asks for completions, in every line; then where values are still to be written.
  for _, name in ipairs(KERNELS) do
    local buffer = open(name)
    for row, text in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
      for column in text:gmatch('[=%[({,."\'] ?()') do
        ask(buffer, name, row - 1, column - 1)
      end
    end
  end
  local buffer = open('scale.py')
  local row = go(buffer, 'value = tl.load')
  for _, line in ipairs({
    'value = tl.load(x + offsets, mask=', 'value = tl.load(x + offsets, mask=inside, other=', 'value = tl.load(x + offsets, eviction_policy=',
    'value = tl.load(x + offsets, cache_modifier="', 'tl.store(y + offsets, value, mask=', 'value = tl.zeros(', 'value = tl.zeros([BLOCK], dtype=',
    'value = tl.sum(value, keep_dims=', 'value = tl.dot(x, y, input_precision=', 'value = tl.load(x + offsets, volatile=',
  }) do
    vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { '    ' .. line .. ')' })
    ask(buffer, 'scale.py', row, 4 + #line)
  end
  edit('scale.py')
  row = go(buffer, 'scale[grid](y, x, n=n)')
  for _, line in ipairs({ 'scale[grid](y, x, ', 'scale[grid](y, x, n=n, num_warps=' }) do
    vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { '    ' .. line .. ')' })
    ask(buffer, 'scale.py', row, 4 + #line)
  end
  edit('scale.py')
  row = go(buffer, 'configs=[triton.Config')
  for _, line in ipairs({ 'configs=[triton.Config({"', 'configs=[triton.Config({"BLOCK": 1}, num_warps=', 'configs=[], key=["' }) do
    vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { '    ' .. line .. ')' })
    ask(buffer, 'scale.py', row, 4 + #line)
  end
  edit('scale.py')
  figure('places asked for completions', asked)
  figure('places where Tritium offers some', ours)
  figure('completions by Tritium', items)
  figure('completions also by pyright or ruff', #both)
  expect(ours > 10, 'something is offered')
  expect(#both == 0, vim.inspect(both))
end)

check('no mistake is told twice', function()
  local path = t.workspace .. '/mistaken.py'
  local broken = t.workspace .. '/unfinished.py'
  vim.fn.writefile({
    'import triton', 'import triton.language as tl', '', '', '@triton.jit', 'def unfinished(x, BLOCK: tl.constexpr):',
    '    value = tl.load(x + tl.arange(0, BLOCK)', '    tl.store(x + tl.arange(0, 100), 0.0', '', '', 'def other(:', '    pass',
  }, broken)
  vim.fn.writefile({
    'import os', 'import triton', 'import triton.language as tl', '', '', '@triton.jit', 'def wrong(x, n, BLOCK: tl.constexpr):',
    '    offsets = tl.arange(0, BLOCK)', '    value = tl.load(x + offsets, mask=offsets < m)', '    unused = missing(value)',
    '    tl.store(x + tl.arange(0, 64)[:, None] + tl.arange(0, 100), value', '', '', '@triton.jit', 'def right(x):', '    y = tl.arange(0, 100)',
    '    tl.store(x + y, undefined_name)',
  }, path)
  local ours, theirs, both = 0, 0, {}
  for _, name in ipairs(vim.list_extend({ 'mistaken.py', 'unfinished.py' }, KERNELS)) do
    local buffer = open(name)
    local function by(source)
      return vim.tbl_filter(function(one)
        -- Pyright's hints fade what is not used; they are no mistakes.
        return one.severity ~= vim.diagnostic.severity.HINT and ((one.source or ''):lower():find('tritium', 1, true) ~= nil) == source
      end, vim.diagnostic.get(buffer))
    end
    if name == 'mistaken.py' or name == 'broken.py' then
      wait('ours are there', function()
        return #by(true) > 0
      end)
    end
    wait('theirs are there', function()
      return #by(false) > 0
    end)
    -- Late ones count too.
    t.settled(buffer)
    ours, theirs = ours + #by(true), theirs + #by(false)
    for _, own in ipairs(by(true)) do
      for _, other in ipairs(by(false)) do
        if overlap(own, other) then
          table.insert(both, ('%s:%d %s "%s" and %s "%s"'):format(name, own.lnum + 1, own.code, own.message, other.source, other.message))
        end
      end
    end
  end
  vim.fn.delete(path)
  vim.fn.delete(broken)
  figure('mistakes told by Tritium', ours)
  figure('mistakes told by pyright and ruff', theirs)
  figure('places that both mark', #both)
  expect(#both == 0, vim.inspect(both))
end)

check("our hover's first line is seen, and no line twice", function()
  local asked, ours, both, hidden, twice = 0, 0, 0, {}, {}
  local function value(hover)
    return hover and vim.lsp.util.convert_input_to_markdown_lines(hover.contents) or {}
  end
  for _, name in ipairs(KERNELS) do
    local buffer = open(name)
    for _, at in ipairs(identifiers(buffer)) do
      asked = asked + 1
      local own = value(answer(buffer, 'tritium', 'textDocument/hover', at.row, at.column))
      local other = value(answer(buffer, 'pyright', 'textDocument/hover', at.row, at.column))
      if #own > 0 then
        ours = ours + 1
      end
      if #own > 0 and #other > 0 then
        both = both + 1
        local known = {}
        for _, line in ipairs(other) do
          known[vim.trim(line)] = true
        end
        for _, line in ipairs(own) do
          if line:find('%w') and not line:find('^```') and known[vim.trim(line)] then
            table.insert(twice, ('%s:%d %s'):format(name, at.row + 1, line))
          end
        end
      end
    end
  end
  -- The float itself, where both have something to say.
  local buffer = open('softmax.py')
  for _, needle in ipairs({ 'x = tl.load', 'def softmax', 'numerator = ' }) do
    local text = t.repeated('a hover opens', function()
      t.close_floats()
      go(buffer, needle, needle:find('^def') and 4 or 0)
      vim.lsp.buf.hover()
    end, t.float_text)
    local first = value(answer(buffer, 'tritium', 'textDocument/hover', vim.api.nvim_win_get_cursor(0)[1] - 1, vim.api.nvim_win_get_cursor(0)[2]))
    local fact = vim.iter(first):find(function(line)
      return line:find('%w') and not line:find('^```')
    end)
    local height = vim.api.nvim_win_get_height(t.floats()[1])
    local shown = table.concat(vim.list_slice(vim.split(text, '\n', { plain = true }), 1, height), '\n')
    if not shown:find(fact, 1, true) then
      table.insert(hidden, needle .. ': ' .. fact .. ' is not in\n' .. shown)
    end
  end
  t.close_floats()
  figure('names hovered over', asked)
  figure('hovers by Tritium', ours)
  figure('of them, hovers by pyright too', both)
  figure('lines said by both', #twice)
  expect(#hidden == 0, table.concat(hidden, '\n'))
  expect(#twice == 0, vim.inspect(twice))
end)

check('what any Python server answers is offered by pyright alone', function()
  local buffer = open('scale.py')
  local own = client(buffer, 'tritium')
  for _, method in ipairs({ 'references', 'documentHighlight', 'rename', 'documentSymbol', 'prepareCallHierarchy' }) do
    expect(not own:supports_method('textDocument/' .. method, buffer), method .. ' is offered by Tritium')
    expect(client(buffer, 'pyright'):supports_method('textDocument/' .. method, buffer), method .. ' is not offered by pyright')
  end
  for _, method in ipairs({ 'formatting', 'rangeFormatting', 'foldingRange', 'selectionRange' }) do
    expect(not own:supports_method('textDocument/' .. method, buffer), method .. ' is offered by Tritium')
  end
end)

--- Milliseconds of processor time that the server has taken so far, all threads together; `nil` where the system does not say.
local function server_time()
  local taken
  for _, pid in ipairs(vim.api.nvim_get_proc_children(vim.uv.os_getpid())) do
    local process = vim.api.nvim_get_proc(pid)
    if process and process.name:find('tritium', 1, true) then
      for _, file in ipairs(vim.fn.glob(('/proc/%d/task/*/schedstat'):format(pid), true, true)) do
        local read, lines = pcall(vim.fn.readfile, file)
        taken = (taken or 0) + (read and tonumber(lines[1]:match('^%d+')) or 0) / 1e6
      end
    end
  end
  return taken
end

check('a file without Triton gets nothing, at no cost', function()
  local text = vim.fn.readfile(t.workspace .. '/plain.py')
  local long = {}
  while #long < 5000 do
    vim.list_extend(long, text)
  end
  vim.fn.writefile(long, t.workspace .. '/plain_long.py')
  for _, name in ipairs({ 'plain.py', 'plain_long.py' }) do
    local buffer = edit(name)
    local own = client(buffer, 'tritium')
    client(buffer, 'pyright')
    local given, times, after = {}, {}, {}
    --- Milliseconds from the question to its answer.
    local function ask(method, params)
      local began, took = vim.uv.hrtime(), nil
      own:request(method, params, function(err, result)
        took = (vim.uv.hrtime() - began) / 1e6
        if err or (result and result ~= vim.NIL and not vim.tbl_isempty(result)) then
          table.insert(given, { method, err, result })
        end
      end, buffer)
      wait('an answer', function()
        return took
      end)
      return took
    end
    local document = vim.lsp.util.make_text_document_params(buffer)
    local range = { start = { line = 0, character = 0 }, ['end'] = { line = 40, character = 0 } }
    -- Pyright is let finish: its work is not ours.
    t.request(client(buffer, 'pyright'), 'textDocument/hover', { textDocument = document, position = { line = 4, character = 5 } }, buffer)
    local all = identifiers(buffer)
    local before = server_time()
    for i = 1, 40 do
      local at = all[(i * 7) % #all + 1]
      local place = { textDocument = document, position = { line = at.row, character = at.column } }
      for _, method in ipairs({ 'hover', 'completion', 'signatureHelp', 'definition', 'typeDefinition' }) do
        table.insert(times, ask('textDocument/' .. method, place))
      end
      table.insert(times, ask('textDocument/inlayHint', { textDocument = document, range = range }))
      table.insert(times, ask('textDocument/codeLens', { textDocument = document }))
      table.insert(times, ask('textDocument/codeAction', { textDocument = document, range = range, context = { diagnostics = {} } }))
      table.insert(times, ask('textDocument/semanticTokens/full', { textDocument = document }))
      -- The first request after a keystroke waits for what the keystroke costs.
      vim.api.nvim_buf_set_text(buffer, 6, 4, 6, 4, { 'a' })
      table.insert(after, ask('textDocument/hover', place))
    end
    local taken = before and (server_time() - before)
    local function of(list, share)
      table.sort(list)
      return ('%.2f ms'):format(list[math.max(1, math.ceil(#list * share))])
    end
    expect(#given == 0, vim.inspect(given))
    local mine = vim.tbl_filter(function(one)
      return one.source == 'tritium'
    end, vim.diagnostic.get(buffer))
    expect(#mine == 0, vim.inspect(mine))
    local of_file = (' in a file of %d lines without Triton'):format(#vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
    figure('requests' .. of_file, #times + #after)
    figure('of them answered with anything', #given)
    if taken then
      -- Keystrokes included; what an editor and a busy machine add to the way there and back is not in it.
      figure('processor time of the server for each of them', ('%.2f ms'):format(taken / (#times + #after)))
    end
    figure('a request there and back, median, p95', of(times, 0.5) .. ', ' .. of(times, 0.95))
    figure('the first after a keystroke, median, p95', of(after, 0.5) .. ', ' .. of(after, 0.95))
    vim.cmd('edit!')
  end
  vim.fn.delete(t.workspace .. '/plain_long.py')
end)

check('without a Python server the full set is offered', function()
  for _, name in ipairs(NAMES) do
    vim.lsp.enable(name, false)
  end
  for _, one in ipairs(vim.lsp.get_clients()) do
    one:stop(true)
    wait('it is stopped', function()
      return one:is_stopped()
    end)
  end
  vim.cmd('silent! bufdo bwipeout!')
  vim.lsp.config('tritium', { settings = { tritium = { python = 'none' } } })
  vim.lsp.enable('tritium')
  local buffer = edit('scale.py')
  local own = client(buffer, 'tritium')
  local all = { 'references', 'documentHighlight', 'rename', 'documentSymbol', 'prepareCallHierarchy', 'foldingRange', 'selectionRange', 'definition', 'completion' }
  for _, method in ipairs(all) do
    expect(own:supports_method('textDocument/' .. method, buffer), method .. ' is not offered')
  end
  expect(own:supports_method('workspace/symbol', buffer), 'workspace symbols are not offered')
  go(buffer, 'doubled(total')
  local cursor = vim.api.nvim_win_get_cursor(0)
  expect(count(answer(buffer, 'tritium', 'textDocument/definition', cursor[1] - 1, cursor[2])) == 1, 'a name leads to its definition')
  expect(count(answer(buffer, 'tritium', 'textDocument/documentHighlight', cursor[1] - 1, cursor[2])) == 2, 'and is highlighted')
end)

if vim.env.TRITIUM_RESULTS then
  local out = {
    '# Beside pyright and ruff', '',
    'Printed by `editors/test.sh coexistence`: one Neovim with Tritium, pyright 1.1.414 and ruff 0.17.6 on the kernels of `editors/fixtures/ws`,',
    'all with their default settings. Times are from the question to the answer as the editor has it, its own work and that of the servers',
    ('beside included, under a load of %.1f.'):format((vim.uv.loadavg())), '',
    '| figure | |', '|---|---:|',
  }
  for _, row in ipairs(figures) do
    table.insert(out, ('| %s | %s |'):format(row[1], row[2]))
  end
  vim.fn.writefile(out, vim.env.TRITIUM_RESULTS)
end
t.finish()
