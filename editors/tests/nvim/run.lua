-- The plugin in a real Neovim, without a screen. **Every check asks the editor, never the server.**
--   nvim --clean -u init.lua --headless -c 'luafile run.lua'    with TRITIUM_PLUGIN, TRITIUM_BIN and TRITIUM_TEST_WORKSPACE set

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
local t = dofile(here .. '/checks.lua')
local attached, check, close_floats, edit, expect, finish, float_text, go, lines, repeated, wait =
  t.attached, t.check, t.close_floats, t.edit, t.expect, t.finish, t.float_text, t.go, t.lines, t.repeated, t.wait

--- What stands in the float about the name at the cursor.
local function hover()
  attached()
  local cursor = vim.api.nvim_win_get_cursor(0)
  local text = repeated('a hover opens', function()
    close_floats()
    vim.api.nvim_win_set_cursor(0, cursor)
    vim.lsp.buf.hover()
  end, float_text)
  close_floats()
  return text
end

--- Hovers until all the facts are told.
local function hover_tells(facts)
  local text, missing
  pcall(wait, 'all is told', function()
    text = hover()
    missing = vim.iter(facts):find(function(fact)
      return not text:find(fact, 1, true)
    end)
    return not missing
  end, 60000)
  expect(not missing, ('no %s in\n%s'):format(missing, text))
  return text
end

local function hints(buffer)
  local all = {}
  for _, item in ipairs(vim.lsp.inlay_hint.get({ bufnr = buffer })) do
    local label = item.inlay_hint.label
    if type(label) == 'table' then
      label = table.concat(vim.tbl_map(function(part)
        return part.value
      end, label))
    end
    table.insert(all, { line = item.inlay_hint.position.line, label = vim.trim(label) })
  end
  return all
end

check('the server attaches', function()
  local buffer = edit('broken.py')
  wait('it is attached', function()
    return #vim.lsp.get_clients({ bufnr = buffer, name = 'tritium' }) == 1
  end)
end)

check('a shape error is marked once, with code and source', function()
  local buffer = edit('broken.py')
  local found = wait('a problem appears', function()
    local all = vim.diagnostic.get(buffer)
    return #all > 0 and all
  end)
  expect(#found == 1, vim.inspect(found))
  expect(found[1].code == 'SHP001' and found[1].source == 'tritium', vim.inspect(found))
  expect(found[1].severity == vim.diagnostic.severity.ERROR, vim.inspect(found))
  expect(found[1].lnum == go(buffer, 'x + y'), 'it stands on the line of the addition')
end)

check('its quick fix applies and the mistake goes', function()
  local buffer = edit('broken.py')
  local before = lines(buffer)
  local problem = wait('a problem appears', function()
    return vim.diagnostic.get(buffer)[1]
  end)
  local select = vim.ui.select
  vim.ui.select = function(items, _, chosen)
    chosen(items[1], 1)
  end
  repeated('the text changes', function()
    vim.api.nvim_win_set_cursor(0, { problem.lnum + 1, problem.col })
    vim.lsp.buf.code_action({ context = { only = { 'quickfix' }, diagnostics = { problem.user_data.lsp } } })
  end, function()
    return lines(buffer) ~= before
  end, 10000)
  vim.ui.select = select
  wait('the problem goes', function()
    return #vim.diagnostic.get(buffer) == 0
  end)
end)

check('a good kernel has no problems', function()
  local buffer = edit('softmax.py')
  wait('hints appear', function()
    return #hints(buffer) > 0
  end)
  expect(#vim.diagnostic.get(buffer) == 0, vim.inspect(vim.diagnostic.get(buffer)))
end)

check('hover on a value tells its type and shape', function()
  go(edit('softmax.py'), 'x = tl.load')
  hover_tells({ 'x: f32[1024]' })
end)

check('hover on a kernel tells what it costs', function()
  go(edit('softmax.py'), 'def softmax', 4)
  local text = hover():lower()
  for _, fact in ipairs({ 'shared', 'registers', 'occupancy', 'flop', 'bytes', 'intensity', 'bound', 'tritium' }) do
    expect(text:find(fact, 1, true), 'no ' .. fact .. ' in\n' .. text)
  end
  expect(text:find('exact', 1, true) or text:find('estimated', 1, true), text)
end)

check('inlay hints show shapes', function()
  local buffer = edit('softmax.py')
  local line = go(buffer, 'x = tl.load')
  wait('the shape of x stands beside it', function()
    return vim.iter(hints(buffer)):any(function(hint)
      return hint.line == line and hint.label == ': f32[1024]'
    end)
  end)
end)

check('an inlay hint on the def line shows the roofline', function()
  local buffer = edit('softmax.py')
  local line = go(buffer, 'def softmax')
  wait('the bound stands beside the kernel', function()
    return vim.iter(hints(buffer)):any(function(hint)
      local label = hint.label:lower()
      return hint.line == line and (label:find('bound') or label:find('memory') or label:find('compute'))
    end)
  end)
end)

check('a lens runs the launch and the result is verified', function()
  local buffer = edit('softmax.py')
  local lens = repeated('a lens appears', function()
    vim.lsp.codelens.refresh({ bufnr = buffer })
  end, function()
    return vim.lsp.codelens.get(buffer)[1]
  end)
  expect(lens.command.title == '▶ Run' and lens.command.command == 'tritium.run', vim.inspect(lens))
  vim.api.nvim_win_set_cursor(0, { lens.range.start.line + 1, 0 })
  close_floats()
  -- Two lenses stand there.
  local select = vim.ui.select
  vim.ui.select = function(items, _, chosen)
    chosen(items[1], 1)
  end
  vim.lsp.codelens.run()
  vim.ui.select = select
  local text = wait('the result opens', float_text)
  expect(text:lower():find('verified', 1, true), text)
  close_floats()
end)

check(':TritiumRun runs the kernel at the cursor', function()
  go(edit('softmax.py'), 'numerator = ')
  vim.cmd.TritiumRun()
  local text = wait('the result opens', float_text)
  expect(text:lower():find('verified', 1, true), text)
  close_floats()
end)

local function view(stage)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.api.nvim_buf_get_name(buffer):match('^tritium://.*/' .. stage .. '$') then
      return buffer, window
    end
  end
end

--- Marked lines of a buffer, 0-based.
local function marked(buffer)
  local space = vim.api.nvim_get_namespaces()['tritium.views']
  return vim.tbl_map(function(mark)
    return mark[2]
  end, vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, {}))
end

local function line_with(buffer, needle)
  for row, text in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    if text:find(needle, 1, true) then
      return row - 1
    end
  end
end

check(':Tritium view shows every stage beside the source', function()
  for stage, words in pairs({
    tree = 'DECORATOR', items = 'kernel softmax(', source = '# x: f32[1024]', tile = 'module L0', passes = '// after coalesce',
    layout = 'module L1', llvm = '@softmax', ptx = '.visible .entry softmax', sass = 'EXIT',
  }) do
    go(edit('softmax.py'), 'z = x')
    vim.cmd.Tritium('view', stage)
    local buffer = wait(stage .. ' opens', function()
      local buffer = view(stage)
      return buffer and lines(buffer):find(words, 1, true) and buffer
    end)
    expect(not vim.bo[buffer].modifiable, stage .. ' can be written to')
    vim.cmd.only()
  end
end)

check('source and PTX move together, both ways', function()
  local source = edit('softmax.py')
  go(source, 'z = x')
  vim.cmd.Tritium('view', 'ptx')
  local ptx, window = wait('the PTX opens', function()
    local buffer, window = view('ptx')
    return buffer and lines(buffer):find('st.global', 1, true) and buffer, window
  end)
  ptx, window = view('ptx')
  local home = vim.api.nvim_get_current_win()
  local store = go(source, 'tl.store')
  repeated('the store is marked in the PTX', function()
    vim.cmd.doautocmd('CursorMoved')
  end, function()
    return vim.tbl_contains(marked(ptx), line_with(ptx, 'st.global'))
  end)
  vim.api.nvim_set_current_win(window)
  vim.api.nvim_win_set_cursor(window, { line_with(ptx, 'st.global') + 1, 0 })
  repeated('the store is marked in the source', function()
    vim.cmd.doautocmd('CursorMoved')
  end, function()
    return vim.deep_equal(marked(source), { store })
  end)
  vim.api.nvim_set_current_win(home)
  vim.cmd.only()
end)

check('a view follows what is typed', function()
  local source = edit('softmax.py')
  local row = go(source, 'numerator = tl.exp(z)')
  vim.cmd.Tritium('view', 'tile')
  local tile = wait('the view opens', function()
    local buffer = view('tile')
    return buffer and lines(buffer):find('module L0', 1, true) and buffer
  end)
  vim.api.nvim_buf_set_lines(source, row, row + 1, false, { '    numerator = tl.sqrt(z)' })
  repeated('the new operation is there', function()
    vim.cmd.doautocmd('TextChanged')
  end, function()
    return lines(tile):find('sqrt', 1, true)
  end)
  vim.cmd.only()
end)

check(':Tritium configs, roofline, occupancy and layout open floats', function()
  for chart, words in pairs({
    configs = { 'BN=256', 'shared bytes', 'registers', 'time, µs', 'looked at' },
    roofline = { 'FLOP per byte', 'f16 tensor', 'BN=256' },
    occupancy = { 'registers per thread, now', '◀ now' },
    layout = { 'w0 t0', 'register R of lane L' },
  }) do
    close_floats()
    go(edit('tuned.py'), 'a = tl.load')
    vim.cmd.Tritium(chart)
    local text = wait(chart .. ' opens', float_text)
    for _, word in ipairs(words) do
      expect(text:find(word, 1, true), 'no ' .. word .. ' in\n' .. text)
    end
  end
  close_floats()
end)

check(':Tritium config changes what hovers say', function()
  local buffer = edit('tuned.py')
  go(buffer, 'total = tl.dot')
  hover_tells({ 'f32[64, 64]' })
  go(buffer, 'total = tl.dot')
  vim.cmd.Tritium('config', 'matmul:2')
  wait('the hover follows', function()
    return hover():find('f32[128, 128]', 1, true)
  end)
  wait('the status says so', function()
    return require('tritium.looks').status():find('BM=128 BN=128', 1, true)
  end)
  vim.cmd.Tritium('config', 'matmul:0')
  wait('and back', function()
    return hover():find('f32[64, 64]', 1, true)
  end)
end)

check('the status says what is not checked', function()
  local buffer = edit('softmax.py')
  local row = go(buffer, 'z = x')
  local function says(words, wanted)
    wait('the status says ' .. words .. (wanted and '' or ' no more'), function()
      require('tritium.looks').update(buffer)
      local status = require('tritium.looks').status()
      return status:find('Triton 3', 1, true) and (status:find(words, 1, true) ~= nil) == wanted
    end)
  end
  says('not checked', false)
  local gluon = { 'from triton.experimental import gluon', '', '', '@gluon.jit', 'def copy(x):', '    pass' }
  vim.api.nvim_buf_set_lines(buffer, -1, -1, false, gluon)
  vim.api.nvim_win_set_cursor(0, { row + 1, 4 })
  says('· not checked: 1 Gluon kernel', true)
  edit('softmax.py')
  says('not checked', false)
end)

check('cells of a percent script are ordinary Python', function()
  local path = vim.env.TRITIUM_TEST_WORKSPACE .. '/percent.py'
  local mistake = '    tl.store(x + lane, 1.0, mask=lane)'
  vim.fn.writefile({
    '# %% [markdown]',
    '# # Fills',
    '',
    '# %%',
    'import triton',
    'import triton.language as tl',
    'LANES = tl.constexpr(32)',
    '',
    '# %%',
    '@triton.jit',
    'def fill(x):',
    '    lane = tl.arange(0, LANES)',
    mistake,
  }, path)
  local buffer = edit('percent.py')
  go(buffer, 'lane = ')
  hover_tells({ 'i32[32]' })
  local row = go(buffer, mistake)
  wait('the mistake is told', function()
    return vim.iter(vim.diagnostic.get(buffer)):any(function(one)
      return one.code == 'DTY011' and one.lnum == row
    end)
  end)
  vim.api.nvim_buf_delete(buffer, { force = true })
  vim.fn.delete(path)
end)

--- Runs `:Tritium` with a word and chooses the row that is called `id`; returns the question.
local function choose(what, id)
  attached()
  local select, asked = vim.ui.select, nil
  vim.ui.select = function(items, options, chosen)
    asked = options.prompt
    chosen(vim.iter(items):find(function(item)
      return item.id == id
    end))
  end
  vim.cmd.Tritium(what)
  local ok, err = pcall(wait, 'it is asked', function()
    return asked
  end)
  vim.ui.select = select
  expect(ok, err)
  return asked
end

--- Waits until the status line and the hover at the cursor say what is looked at.
local function looks(status, words)
  wait('the status says ' .. status, function()
    return require('tritium.looks').status():find(status, 1, true)
  end)
  hover_tells({ words })
end

check(':Tritium gpu asks through vim.ui.select, and hovers follow', function()
  go(edit('softmax.py'), 'def softmax', 4)
  expect(choose('gpu', 'A100') == 'Which board?', 'the question')
  looks('A100', ' on A100')
  vim.cmd.Tritium('gpu', 'H100')
  looks('H100', ' on H100')
end)

check(':Tritium triton asks through vim.ui.select, and hovers follow', function()
  local buffer = edit('softmax.py')
  local row = go(buffer, 'numerator = ')
  vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { '    numerator = tl.maximum(z.to(tl.float16), 0.0)' })
  go(buffer, 'numerator = ')
  -- The literal makes the result wide, until 3.9.
  for _, version in ipairs({ '3.9', '3.6' }) do
    expect(choose('triton', version) == 'Which version of Triton?', 'the question')
    looks('Triton ' .. version, version == '3.9' and 'numerator: f16[1024]' or 'numerator: f32[1024]')
  end
  edit('softmax.py')
end)

check('a choice made after the server has stopped is told so', function()
  go(edit('softmax.py'), 'z = x')
  local client = attached()
  local notify, told, select, late = vim.notify, nil, vim.ui.select, nil
  vim.ui.select = function(items, _, chosen)
    late = function()
      chosen(items[1])
    end
  end
  vim.cmd.Tritium('gpu')
  wait('it is asked', function()
    return late
  end)
  vim.ui.select = select
  client:stop()
  wait('it is gone', function()
    return #vim.lsp.get_clients({ name = 'tritium' }) == 0
  end)
  vim.notify = function(message)
    told = message
  end
  local ok, err = pcall(late)
  vim.notify = notify
  t.stop_all()
  edit('softmax.py')
  attached()
  expect(ok and told == 'Tritium: the server has stopped', tostring(err) .. tostring(told))
end)

check(':Tritium config asks through vim.ui.select, and hovers follow', function()
  go(edit('tuned.py'), 'total = tl.dot')
  expect(choose('config', 'matmul:1') == 'Which configuration of matmul?', 'the question')
  looks('BM=128 BN=64', 'f32[128, 64]')
  vim.cmd.Tritium('config', 'matmul:0')
  looks('BM=64 BN=64', 'f32[64, 64]')
end)

check(':Tritium run is what :TritiumRun is', function()
  go(edit('softmax.py'), 'numerator = ')
  close_floats()
  vim.cmd.Tritium('run')
  expect(wait('the result opens', float_text):lower():find('verified', 1, true), 'it is verified')
  close_floats()
end)

check(':Tritium sanitize marks what a run finds, until it is mended', function()
  local buffer = edit('softmax.py')
  local row = go(buffer, 'tl.store')
  local before = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
  vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { (before:gsub(', mask=[^)]*%)', ')')) })
  close_floats()
  vim.cmd.Tritium('sanitize')
  local text = wait('the result opens', float_text)
  expect(text:find('SAN', 1, true), text)
  close_floats()
  local function found()
    return vim.iter(vim.diagnostic.get(buffer)):any(function(one)
      return one.code == 'SAN001' and one.lnum == row
    end)
  end
  wait('it is marked', found)
  vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { before })
  wait('it goes', function()
    return not found()
  end)
  edit('softmax.py')
end)

check(':Tritium bench tells the times of a launch', function()
  go(edit('softmax.py'), 'numerator = ')
  close_floats()
  vim.cmd.Tritium('bench')
  local text = wait('the result opens', float_text)
  for _, words in ipairs({ 'warm µs', 'predicted µs', 'softmax', 'cpu' }) do
    expect(text:find(words, 1, true), text)
  end
  close_floats()
end)

check(':Tritium tune puts the rows of a tuner in order', function()
  go(edit('tuned.py'), 'tl.load')
  close_floats()
  vim.cmd.Tritium('tune')
  local text = wait('the result opens', float_text)
  for _, words in ipairs({ 'predicted', 'best: ', 'Nothing was timed' }) do
    expect(text:find(words, 1, true), text)
  end
  close_floats()
end)

check(':Tritium tune! writes what was found into the buffer, as one edit', function()
  local buffer = edit('tuned.py')
  attached(buffer)
  go(buffer, 'tl.load')
  local before = lines(buffer)
  local outcome
  require('tritium').tune(function(found)
    outcome = found
  end)
  wait('the result comes', function()
    return outcome
  end)
  close_floats()
  expect(outcome.write == 'Write 1 predicted row into tuned.py', vim.inspect(outcome.write))
  local function written()
    vim.cmd.Tritium('tune!')
    wait('it is written', function()
      return lines(buffer) ~= before
    end)
    expect(lines(buffer):find('    configs=[triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=4)],\n    key=', 1, true), lines(buffer))
    expect(vim.bo[buffer].modified and table.concat(vim.fn.readfile(vim.api.nvim_buf_get_name(buffer)), '\n') == before, 'the file is as it was')
    vim.cmd('silent undo')
    expect(lines(buffer) == before, 'one step takes it back')
  end
  written()
  -- What is typed meanwhile stays where it is.
  vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { '# Typed above.' })
  before = lines(buffer)
  local path = vim.api.nvim_buf_get_name(buffer)
  vim.cmd.Tritium('tune!')
  wait('it is written there too', function()
    return lines(buffer):find('configs=[triton.Config({"BM": 128, "BN": 256', 1, true)
  end)
  vim.cmd('silent undo')
  -- Another list is not written over.
  local row = go(buffer, '"BN": 256')
  vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, {})
  local told
  local notify = vim.notify
  vim.notify = function(text)
    told = text
  end
  before = lines(buffer)
  vim.cmd.Tritium('tune!')
  wait('it is refused', function()
    return told
  end)
  vim.notify = notify
  expect(told:find('the configurations of `matmul` are others than those that were tuned', 1, true) and lines(buffer) == before, told)
  vim.cmd('edit! ' .. vim.fn.fnameescape(path))
end)

check(':Tritium stop ends what is running', function()
  local endless = { 'endless.py', 'many_rows.py' }
  for _, name in ipairs(endless) do
    vim.fn.filecopy(vim.fs.dirname(t.workspace) .. '/' .. name, t.workspace .. '/' .. name)
  end
  local notify, told, doing = vim.notify, {}, nil
  vim.notify = function(message)
    table.insert(told, message)
  end
  local watch = vim.api.nvim_create_autocmd('LspProgress', {
    callback = function(event)
      doing = event.data.params.value.message or doing
    end,
  })
  local ok, err = pcall(function()
    for _, deed in ipairs({ 'run', 'sanitize', 'bench', 'tune' }) do
      -- A kernel that never ends, and a tuner of which nobody awaits the end.
      local name = deed == 'tune' and 'many_rows.py' or 'endless.py'
      local buffer = edit(name)
      attached(buffer)
      go(buffer, 'tl.load')
      close_floats()
      doing = nil
      vim.cmd.Tritium(deed)
      wait('it says what it does', function()
        return doing and doing:find(deed == 'tune' and 'rows of kernel `spun`' or 'kernel `spin`', 1, true)
      end)
      vim.cmd.Tritium('stop')
      wait('it says that it has ended', function()
        return vim.list_contains(told, 'Tritium: cancelled')
      end)
      told = {}
    end
    vim.cmd.Tritium('stop')
    expect(vim.iter(told):any(function(message)
      return message:find('nothing is running', 1, true)
    end), vim.inspect(told))
  end)
  vim.notify = notify
  vim.api.nvim_del_autocmd(watch)
  for _, name in ipairs(endless) do
    vim.fn.delete(t.workspace .. '/' .. name)
  end
  expect(ok, tostring(err))
  expect(not float_text(), 'a run that was cancelled shows nothing')
  wait('no process is left', function()
    return vim.system({ 'pgrep', '-f', vim.env.TRITIUM_BIN .. ' exec' }):wait().stdout == ''
  end)
  edit('softmax.py')
end)

check('what was measured is remembered: bars in the hover, and :Tritium history draws it', function()
  local buffer = edit('softmax.py')
  attached(buffer)
  -- Twice is a history.
  for _ = 1, 2 do
    go(buffer, 'numerator = ')
    close_floats()
    vim.cmd.Tritium('bench')
    wait('the result opens', float_text)
  end
  close_floats()
  go(buffer, 'def softmax', 4)
  local text = wait('the hover tells it', function()
    close_floats()
    vim.lsp.buf.hover()
    vim.wait(2000, float_text, 50)
    local text = float_text()
    return text and text:find('[▁▂▃▄▅▆▇█]') and text
  end)
  expect(text:find('on cpu', 1, true), text)
  close_floats()
  vim.cmd.Tritium('history')
  text = wait('the history opens', float_text)
  for _, words in ipairs({ 'History', 'runs', 'on cpu', 'just now' }) do
    expect(text:find(words, 1, true), text)
  end
  close_floats()
end)

check('▶ Run… asks for sizes, and the answer can be kept as a launch block', function()
  local path = vim.fs.joinpath(vim.fs.dirname(vim.api.nvim_buf_get_name(edit('softmax.py'))), 'asked.py')
  vim.fn.writefile({
    'import torch, triton',
    'import triton.language as tl',
    '',
    '@triton.jit',
    'def twice(X, Y, stride, n, BLOCK: tl.constexpr):',
    '    i = tl.arange(0, BLOCK)',
    '    x = tl.load(X + tl.program_id(0) * stride + i, mask=i < n)',
    '    tl.store(Y + tl.program_id(0) * stride + i, 2 * x, mask=i < n)',
    '',
    'def doubled(x: torch.Tensor):',
    '    M, N = x.shape',
    '    y = torch.empty_like(x)',
    '    twice[(M,)](x, y, x.stride(0), N, BLOCK=triton.next_power_of_2(N))',
    '    return y',
  }, path)
  local buffer = edit('asked.py')
  attached()
  go(buffer, 'tl.store')
  close_floats()
  local input, asked = vim.ui.input, nil
  vim.ui.input = function(options, done)
    asked = options.default
    done('M=3, N=33, x=f16[M, N]')
  end
  vim.cmd.Tritium('run')
  local text = wait('the result opens', float_text)
  vim.ui.input = input
  expect(asked == 'M=40, N=64, x=f32[M, N]', asked)
  expect(text:find('entered doubled with M = 3, N = 33, x = f16[M, N]', 1, true), text)
  expect(text:find('f16[3, 33]', 1, true), text)
  close_floats()
  vim.cmd.Tritium('keep')
  expect(lines(buffer):find('# args = { X = "f16[M, N] = normal(0, 1)", Y = "f16[M, N]", stride = 33, n = 33 }', 1, true), lines(buffer))
  local function runs()
    for _, lens in ipairs(vim.lsp.codelens.get(buffer)) do
      if lens.command and lens.command.title == '▶ Run' then
        return true
      end
    end
    vim.lsp.codelens.refresh({ bufnr = buffer })
  end
  wait('the kernel has a launch', runs)
  vim.cmd.bwipeout({ buffer, bang = true })
  vim.fn.delete(path)
  edit('softmax.py')
end)

check("Triton's own stages say when it has not run here", function()
  go(edit('softmax.py'), 'z = x')
  vim.cmd.Tritium('view', 'triton_ttgir')
  wait('the view says so', function()
    local buffer = view('triton_ttgir')
    return buffer and lines(buffer):find('Triton has not compiled `softmax`', 1, true)
  end)
  vim.cmd.only()
end)

check('the help has a place for every command', function()
  local doc = vim.env.TRITIUM_PLUGIN .. '/doc'
  local copy = vim.fn.tempname()
  vim.fn.mkdir(copy .. '/doc', 'p')
  vim.fn.writefile(vim.fn.readfile(doc .. '/tritium.txt'), copy .. '/doc/tritium.txt')
  -- Fails where a tag stands twice.
  vim.cmd.helptags(copy .. '/doc')
  vim.opt.runtimepath:append(copy)
  for name in pairs(require('tritium.command').commands) do
    vim.cmd.help(':Tritium-' .. name)
    expect(vim.api.nvim_get_current_line():find('*:Tritium-' .. name .. '*', 1, true), name)
    vim.cmd.helpclose()
  end
  vim.opt.runtimepath:remove(copy)
end)

check(':Tritium compare shows two configurations in difference mode', function()
  go(edit('tuned.py'), 'total = tl.dot')
  vim.cmd.Tritium('compare', 'matmul:0', 'matmul:2', 'layout')
  local windows = wait('both are there', function()
    local all = vim.api.nvim_tabpage_list_wins(0)
    local texts = vim.tbl_map(function(window)
      return lines(vim.api.nvim_win_get_buf(window))
    end, all)
    return #all == 2 and texts[1]:find('num_warps=', 1, true) and texts[2]:find('num_warps=', 1, true) and all
  end)
  for _, window in ipairs(windows) do
    expect(vim.wo[window].diff, 'the window compares')
  end
  vim.cmd.tabclose()
end)

check(':Tritium completes what there is', function()
  go(edit('tuned.py'), 'total = tl.dot')
  for line, word in pairs({ ['Tritium '] = 'roofline', ['Tritium view p'] = 'ptx', ['Tritium config '] = 'matmul:3', ['Tritium gpu H'] = 'H200' }) do
    wait(line .. 'offers ' .. word, function()
      return vim.tbl_contains(vim.fn.getcompletion(line, 'cmdline'), word)
    end)
  end
end)

local shared = { hints = hints, hover_tells = hover_tells, init = here .. '/init.lua' }
dofile(here .. '/language.lua')(vim.tbl_extend('error', t, shared))
shared = { hover = hover, hover_tells = hover_tells, here = here, root = vim.fs.normalize(here .. '/../../..'), view = view, marked = marked, line_with = line_with }
dofile(here .. '/insight.lua')(vim.tbl_extend('error', t, shared))

check('switches turn features off', function()
  local buffer = edit('softmax.py')
  local client = attached(buffer)
  local function set(value)
    client.settings = { tritium = { inlayHints = { shapes = value } } }
    client:notify('workspace/didChangeConfiguration', { settings = client.settings })
  end
  local function shown()
    local all = t.request(client, 'textDocument/inlayHint', {
      textDocument = vim.lsp.util.make_text_document_params(buffer),
      range = { start = { line = 0, character = 0 }, ['end'] = { line = 1000, character = 0 } },
    }, buffer)
    return vim.inspect(all):find('f32[', 1, true) ~= nil
  end
  wait('shapes are shown at first', shown)
  set(false)
  wait('shapes are gone', function()
    return not shown()
  end)
  set(true)
  wait('shapes are back', shown)
end)

check('a plain Python file stays silent', function()
  local buffer = edit('plain.py')
  local client = attached(buffer)
  go(buffer, 'total')
  local where = vim.lsp.util.make_position_params(0, client.offset_encoding)
  -- The answers are waited for, so that silence is not lateness.
  local answer = t.request(client, 'textDocument/hover', where, buffer)
  expect(answer == nil, vim.inspect(answer))
  vim.lsp.codelens.refresh({ bufnr = buffer })
  local lenses = t.request(client, 'textDocument/codeLens', { textDocument = where.textDocument }, buffer)
  expect(#(lenses or {}) == 0, vim.inspect(lenses))
  expect(#hints(buffer) == 0, vim.inspect(hints(buffer)))
  expect(#vim.diagnostic.get(buffer) == 0, vim.inspect(vim.diagnostic.get(buffer)))
end)

check(':checkhealth finds the server', function()
  attached(edit('softmax.py'))
  vim.cmd('checkhealth tritium')
  local text = lines(0)
  expect(text:find('OK', 1, true) and text:find(': tritium ', 1, true) and text:find('is attached to', 1, true), text)
  expect(not text:find('ERROR', 1, true), text)
  vim.cmd.bdelete()
end)

check('the server stops when asked', function()
  local client = attached(edit('softmax.py'))
  client:stop()
  wait('it is stopped', function()
    return client:is_stopped()
  end)
end)

finish()
