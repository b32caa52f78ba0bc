-- The requests of the protocol as the editor makes them: first beside a Python server, as by default, then without one.
-- **Every check asks the editor, and changes made to a file are taken back.**

return function(t)
  local attached, check, edit, expect, go, hints, hover_tells, lines, repeated, request, wait =
    t.attached, t.check, t.edit, t.expect, t.go, t.hints, t.hover_tells, t.lines, t.repeated, t.request, t.wait

  --- What `act` lists, as `line: text`.
  local function listed(act)
    attached()
    local found
    return repeated('a list comes', function()
      act({
        on_list = function(list)
          found = vim.tbl_map(function(item)
            local line = vim.fn.readfile(item.filename, '', item.lnum)[item.lnum]
            return ('%d: %s'):format(item.lnum, line:sub(item.col, (item.end_col or 0) - 1))
          end, list.items)
        end,
      })
    end, function()
      return found
    end, 10000)
  end

  --- The cursor after `act` has moved it.
  local function jumped(act)
    attached()
    local before = vim.api.nvim_win_get_cursor(0)
    repeated('the cursor moves', act, function()
      return not vim.deep_equal(before, vim.api.nvim_win_get_cursor(0))
    end, 10000)
    local cursor = vim.api.nvim_win_get_cursor(0)
    return vim.api.nvim_get_current_line():sub(cursor[2] + 1)
  end

  --- Applies the action whose title begins with `title`.
  local function act_on(buffer, kind, title)
    local before, select = lines(buffer), vim.ui.select
    local offered
    vim.ui.select = function(items, _, chosen)
      offered = vim.tbl_map(function(item)
        return item.action.title
      end, items)
      chosen(vim.iter(items):find(function(item)
        return vim.startswith(item.action.title, title)
      end))
    end
    attached(buffer)
    local ok = pcall(repeated, 'the text changes', function()
      vim.lsp.buf.code_action({ context = { only = { kind }, diagnostics = {} } })
    end, function()
      return lines(buffer) ~= before
    end, 10000)
    vim.ui.select = select
    expect(ok, ('`%s` is not among %s'):format(title, vim.inspect(offered)))
  end

  --- Another Neovim, in which keys can be typed and be waited for.
  local function typing(name, act)
    local child = vim.fn.jobstart({ vim.v.progpath, '--clean', '-u', t.init, '--headless', '--embed' }, { rpc = true })
    local function ask(...)
      return vim.rpcrequest(child, ...)
    end
    local ok, err = pcall(function()
      ask('nvim_command', 'edit ' .. vim.fn.fnameescape(t.workspace .. '/' .. name))
      wait('its server is attached', function()
        return ask('nvim_exec_lua', 'local c = vim.lsp.get_clients({ bufnr = 0 })[1]; return c and c.initialized', {}) == true
      end)
      act(ask)
    end)
    vim.fn.jobstop(child)
    if not ok then
      error(err, 0)
    end
  end

  check('completion offers what only the server knows', function()
    typing('scale.py', function(ask)
      local function offered(line, keys)
        ask('nvim_input', '<Esc>')
        ask('nvim_call_function', 'search', { line, 'w' })
        return repeated('completions come', function()
          ask('nvim_input', '<Esc>' .. keys .. '<C-x><C-o>')
        end, function()
          local words = vim.tbl_map(function(item)
            return item.word
          end, ask('nvim_call_function', 'complete_info', { { 'items' } }).items)
          return #words > 0 and words
        end)
      end
      local masks = offered('value = tl.load', '0f(lct)x + offsets, mask=')
      expect(vim.deep_equal(masks, { 'inside, other=0.0' }), vim.inspect(masks))
      ask('nvim_input', '<C-y>')
      wait('it stands in the text', function()
        return ask('nvim_get_current_line') == '    value = tl.load(x + offsets, mask=inside, other=0.0)'
      end)
      ask('nvim_input', '<Esc>u')
      expect(vim.tbl_contains(offered('value = tl.load', '0f(lct)x + offsets, mask=inside, other='), '-float("inf")'), 'the identity')
    end)
  end)

  check('signatures of builtins and of launches', function()
    local buffer = edit('scale.py')
    for needle, words in pairs({ ['tl.load(x'] = 'tl.load(', ['scale[grid](y'] = 'scale[grid](y, x, n, BLOCK: tl.constexpr)' }) do
      attached(buffer)
      local text = repeated('a signature opens', function()
        t.close_floats()
        go(buffer, needle, #needle - 1)
        vim.lsp.buf.signature_help()
      end, t.float_text)
      expect(text:find(words, 1, true), text)
    end
    t.close_floats()
  end)

  check('a string leads to the parameter it names', function()
    go(edit('scale.py'), 'BLOCK"]),)')
    local text = jumped(vim.lsp.buf.definition)
    expect(vim.startswith(text, 'BLOCK: tl.constexpr'), text)
  end)

  check('a shape leads to the range that made it', function()
    go(edit('scale.py'), 'value = tl.load')
    local text = jumped(vim.lsp.buf.type_definition)
    expect(text == 'tl.arange(0, BLOCK)', text)
  end)

  check('a shape of compile-time values leads to their parameters', function()
    go(edit('tuned.py'), 'total = tl.zeros')
    local found = listed(vim.lsp.buf.type_definition)
    local row = go(0, 'def matmul') + 1
    expect(vim.deep_equal(found, { row .. ': BM', row .. ': BN' }), vim.inspect(found))
  end)

  check('a loop says what a trip of it costs, and a hint explains itself when it is asked', function()
    local buffer = edit('tuned.py')
    local row = go(buffer, 'for start')
    local item = wait('a hint stands at the loop', function()
      return vim.iter(vim.lsp.inlay_hint.get({ bufnr = buffer })):find(function(item)
        return item.inlay_hint.position.line == row
      end)
    end)
    local hint = item.inlay_hint
    expect(vim.trim(hint.label) == '128 trips · 262 kFLOP · 8 KiB · 32 FLOP/B · L2', vim.inspect(hint))
    -- This Neovim has no command for it. What takes long to say comes only now.
    expect(not hint.tooltip, vim.inspect(hint))
    local tooltip = request(vim.lsp.get_client_by_id(item.client_id), 'inlayHint/resolve', hint, buffer).tooltip
    expect((tooltip.value or tooltip):find('One trip of one program', 1, true), vim.inspect(tooltip))
  end)

  check('names are coloured by what they mean', function()
    local buffer = edit('scale.py')
    for needle, kind in pairs({ ['BLOCK: tl'] = 'constexpr', ['x, n, BLOCK'] = 'pointer', ['offsets = '] = 'tile', ['inside = '] = 'mask', ['scale[grid]'] = 'launch' }) do
      local row = go(buffer, needle)
      local column = vim.api.nvim_win_get_cursor(0)[2]
      wait(needle .. ' is coloured', function()
        return vim.iter(vim.lsp.semantic_tokens.get_at_pos(buffer, row, column) or {}):any(function(token)
          return token.type == kind
        end)
      end)
    end
  end)

  check(':Tritium sum adds a selection up', function()
    local buffer = edit('scale.py')
    local first = go(buffer, 'offsets = index') + 1
    t.close_floats()
    vim.cmd(('%d,%dTritium sum'):format(first, first + 2))
    local text = wait('the sum opens', t.float_text)
    for _, words in ipairs({ 'selection', '1 load', 'loaded', 'inside: i1[256]' }) do
      expect(text:find(words, 1, true), text)
    end
    -- Of a line only what is selected: the mask alone.
    t.close_floats()
    go(buffer, 'offsets < n')
    vim.cmd.normal({ args = { 'vee\27' }, bang = true })
    vim.cmd("'<,'>Tritium sum")
    text = wait('the sum opens', t.float_text)
    expect(text:find('offsets: i32[256]', 1, true) and not text:find('inside', 1, true), text)
    t.close_floats()
  end)

  check('refactorings are offered, and leave no mistake behind', function()
    for _, row in ipairs({
      { 'scale.py', 'index = tl', 'Make `index` an int64', 'tl.program_id(0).to(tl.int64)' },
      { 'blocks.py', 'tl.make_block_ptr', 'Make `block` a tensor descriptor', 'tl.make_tensor_descriptor(x, shape=[rows, columns]' },
    }) do
      local buffer = edit(row[1])
      go(buffer, row[2])
      act_on(buffer, 'refactor', row[3])
      expect(lines(buffer):find(row[4], 1, true), lines(buffer))
      wait('hints are there again', function()
        return #hints(buffer) > 0
      end)
      wait('no mistake is left', function()
        return #vim.diagnostic.get(buffer, { severity = vim.diagnostic.severity.ERROR }) == 0
      end)
      edit(row[1])
    end
    local buffer = edit('scale.py')
    local row = go(buffer, 'value = tl.load')
    vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { '    value = tl.load(x + offsets)' })
    go(buffer, 'tl.load')
    act_on(buffer, 'refactor', 'Add mask')
    expect(lines(buffer):find('tl.load(x + offsets, mask=offsets < n', 1, true), lines(buffer))
    edit('scale.py')
  end)

  check('a helper is taken out of a selection', function()
    local buffer = edit('blocks.py')
    go(buffer, 'part * 0.5')
    vim.cmd.normal({ args = { 'v' .. (#'part * 0.5' - 1) .. 'l' }, bang = true })
    act_on(buffer, 'refactor.extract', 'Extract helper')
    vim.cmd.normal({ args = { '\27' }, bang = true })
    expect(lines(buffer):find('@triton.jit\ndef helper(part):\n    return part * 0.5\n', 1, true), lines(buffer))
    edit('blocks.py')
  end)

  check('all safe fixes at once', function()
    local buffer = edit('broken.py')
    local row = go(buffer, 'x = tl.load')
    vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { '    x = tl.load(X + rows)  # tritium: ignore[MSK001] not any more' })
    act_on(buffer, 'source.fixAll', "Fix all of Tritium's")
    expect(not lines(buffer):find('ignore[', 1, true), lines(buffer))
    edit('broken.py')
  end)

  check('what a configuration takes too much of is told, with its name and a fix', function()
    local buffer = edit('tuned.py')
    local row = go(buffer, '"BN": 256')
    local line = vim.api.nvim_get_current_line():gsub('num_stages=4', 'num_stages=6')
    vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { line })
    local problem = wait('a problem appears', function()
      return vim.diagnostic.get(buffer)[1]
    end)
    expect(problem.code == 'TUN004' and problem.lnum == go(buffer, '"BN": 256'), vim.inspect(problem))
    expect(problem.message:find('294,912 bytes', 1, true) and problem.message:find('only under matmul[3]', 1, true), problem.message)
    -- It stays while somebody types.
    local counts = {}
    local group = vim.api.nvim_create_autocmd('DiagnosticChanged', {
      callback = function()
        table.insert(counts, #vim.diagnostic.get(buffer))
      end,
    })
    for i = 1, 8 do
      vim.api.nvim_buf_set_lines(buffer, go(buffer, '    inner = '), -1, false, vim.list_extend({ '    # Typed: ' .. i }, vim.api.nvim_buf_get_lines(buffer, go(buffer, '    inner = '), -1, false)))
      wait('hints are there again', function()
        return #hints(buffer) > 0
      end)
    end
    t.wait_until_told(buffer)
    vim.api.nvim_del_autocmd(group)
    expect(vim.iter(counts):all(function(count)
      return count == 1
    end), vim.inspect(counts))
    go(buffer, '"BN": 256')
    act_on(buffer, 'quickfix', 'Remove matmul[3]')
    expect(not lines(buffer):find('"BN": 256', 1, true), lines(buffer))
    wait('the problem goes', function()
      return #vim.diagnostic.get(buffer) == 0
    end)
    edit('tuned.py')
  end)

  check('hovers tell of accesses, loops and registers', function()
    local buffer = edit('tuned.py')
    wait('hints appear', function()
      return #hints(buffer) > 0
    end)
    for needle, facts in pairs({
      ['load(a_tile'] = { '16 bytes an instruction and thread, 16 sectors a request', 'from or to DRAM', 'live registers here: ~' },
      ['for start'] = { '128 trips = cdiv(K, 32)', 'one trip of one program: 262 kFLOP', 'limiter of a trip: ', 'loads run ahead in ' },
      ['dot('] = { 'product: wgmma m64n64k16', '(Triton, by its rules)' },
      ['matmul(A'] = { 'limiter: ', 'waves: ', 'would gain', "by Triton's: ", 'wgmma' },
    }) do
      go(buffer, needle)
      hover_tells(facts)
    end
  end)

  check('places are right beside letters of two and four bytes', function()
    local buffer = edit('softmax.py')
    local row = go(buffer, 'x = tl.load')
    local line = vim.api.nvim_get_current_line():gsub('x = ', 'tl.static_print("é😀"); x = ', 1)
    vim.api.nvim_buf_set_lines(buffer, row, row + 1, false, { line })
    go(buffer, 'x = tl.load')
    hover_tells({ 'x: f32[1024]' })
    expect(#vim.diagnostic.get(buffer) == 0, vim.inspect(vim.diagnostic.get(buffer)))
    edit('softmax.py')
  end)

  check('each kind of hint has its switch', function()
    local buffer = edit('blocks.py')
    local client = attached(buffer)
    local function set(settings)
      client.settings = { tritium = settings }
      client:notify('workspace/didChangeConfiguration', { settings = client.settings })
    end
    local function shown(pattern)
      local all = request(client, 'textDocument/inlayHint', {
        textDocument = vim.lsp.util.make_text_document_params(buffer),
        range = { start = { line = 0, character = 0 }, ['end'] = { line = 1000, character = 0 } },
      }, buffer)
      return vim.iter(all or {}):any(function(hint)
        return hint.label:find(pattern) ~= nil
      end)
    end
    for _, row in ipairs({ { 'shapes', true, '%[32, 64%]' }, { 'dtypes', true, 'f16' }, { 'promotions', false, '→' }, { 'roofline', true, 'bound' } }) do
      local name, usual, pattern = row[1], row[2], row[3]
      wait(name .. ' as usual', function()
        return shown(pattern) == usual
      end)
      set({ inlayHints = { [name] = not usual } })
      wait(name .. ' switched', function()
        return shown(pattern) ~= usual
      end)
      set({ inlayHints = { [name] = usual } })
      wait(name .. ' as usual again', function()
        return shown(pattern) == usual
      end)
    end
    set({ inlayHints = { shapes = false, dtypes = false, roofline = false, promotions = true } })
    wait('promotions alone are shown', function()
      return shown('→') and not shown('%[32, 64%]') and not shown('bound')
    end)
    set({ inlayHints = { shapes = true, dtypes = true, roofline = true, promotions = false } })
    wait('all is as usual', function()
      return shown('%[32, 64%]') and not shown('→')
    end)
  end)

  check('what a Python server answers is left to it', function()
    local buffer = edit('scale.py')
    local client = attached(buffer)
    for _, method in ipairs({ 'references', 'documentHighlight', 'rename', 'documentSymbol', 'foldingRange', 'selectionRange', 'prepareCallHierarchy' }) do
      expect(not client:supports_method('textDocument/' .. method, buffer), method .. ' is offered')
    end
    expect(not client:supports_method('workspace/symbol', buffer), 'workspace symbols are offered')
  end)

  check('a client that asks for diagnostics gets them by asking, once', function()
    vim.fn.writefile(vim.fn.readfile(t.workspace .. '/broken.py'), t.workspace .. '/asked.py')
    local buffer = edit('asked.py')
    local id = vim.lsp.start({
      name = 'asking',
      cmd = { vim.env.TRITIUM_BIN, 'lsp' },
      root_dir = t.workspace,
      before_init = function(params)
        params.capabilities.textDocument.publishDiagnostics = nil
      end,
    })
    local asking = wait('it is attached', function()
      local client = vim.lsp.get_client_by_id(id)
      return client and client.initialized and client
    end)
    local function found()
      return vim.tbl_filter(function(one)
        return one.namespace == vim.lsp.diagnostic.get_namespace(id, true)
      end, vim.diagnostic.get(buffer))
    end
    -- This Neovim asks with every change.
    vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { '' })
    local all = wait('a problem appears', function()
      local all = found()
      return #all > 0 and all
    end)
    expect(#all == 1 and all[1].code == 'SHP001', vim.inspect(all))
    expect(#vim.diagnostic.get(buffer, { namespace = vim.lsp.diagnostic.get_namespace(id, false) }) == 0, 'nothing is pushed')
    -- The whole workspace: what no buffer shows, too. This Neovim has no command for it.
    local by_file = {}
    for _, report in ipairs(request(asking, 'workspace/diagnostic', { previousResultIds = {} }, buffer).items) do
      by_file[vim.fs.basename(vim.uri_to_fname(report.uri))] = vim.tbl_map(function(one)
        return one.code
      end, report.items)
    end
    expect(vim.deep_equal(by_file['broken.py'], { 'SHP001' }) and vim.deep_equal(by_file['softmax.py'], {}), vim.inspect(by_file))
    asking:stop(true)
    wait('it is gone', function()
      return asking:is_stopped()
    end)
    vim.cmd('bwipeout!')
    vim.fn.delete(t.workspace .. '/asked.py')
  end)

  --- Ends the server and starts one with other settings.
  local function restart(settings)
    t.stop_all()
    vim.lsp.config('tritium', { settings = { tritium = settings } })
    return attached(edit('scale.py'))
  end

  check('without a Python server names are answered too', function()
    restart({ python = 'none' })
    go(edit('scale.py'), 'BLOCK: tl')
    local found = listed(function(options)
      vim.lsp.buf.references(nil, options)
    end)
    -- Two configurations, the parameter, two uses, the grid.
    expect(#found == 6, vim.inspect(found))
    for _, one in ipairs(found) do
      expect(one:find(': BLOCK$'), one)
    end
    go(edit('scale.py'), 'doubled(total')
    local text = jumped(vim.lsp.buf.definition)
    expect(vim.startswith(text, 'doubled(value)'), text)
  end)

  check('a name is highlighted where it stands', function()
    local buffer = edit('scale.py')
    go(buffer, 'inside = offsets')
    attached(buffer)
    repeated('three places are marked', vim.lsp.buf.document_highlight, function()
      local space = vim.api.nvim_get_namespaces()['nvim.lsp.references']
      return space and #vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, {}) == 3
    end)
    vim.lsp.buf.clear_references()
  end)

  check('a rename reaches configurations, keys, grids and launches', function()
    for _, row in ipairs({
      { 'BLOCK: tl', 'TILE', 'BLOCK', { '{"TILE": 256}', 'meta["TILE"]', 'index * TILE' } },
      { 'n, BLOCK: tl', 'count', '"n"', { 'key=["count"]', '(y, x, count=n)', 'offsets < count' } },
    }) do
      local buffer = edit('scale.py')
      attached(buffer)
      go(buffer, row[1])
      repeated('the text changes', function()
        vim.lsp.buf.rename(row[2])
      end, function()
        return not lines(buffer):find(row[3], 1, true)
      end, 10000)
      for _, words in ipairs(row[4]) do
        expect(lines(buffer):find(words, 1, true), lines(buffer))
      end
    end
    edit('scale.py')
  end)

  check('a rename reaches what `import *` brings', function()
    local lib, use = t.workspace .. '/lib_of_all.py', t.workspace .. '/use_of_all.py'
    vim.fn.writefile({ 'import triton', '', '', '@triton.jit', 'def halve(value):', '    return value / 2' }, lib)
    vim.fn.writefile({ 'import triton', 'from lib_of_all import *', '', '', '@triton.jit', 'def quarter(value):', '    return halve(halve(value))' }, use)
    local user = edit('use_of_all.py')
    local buffer = edit('lib_of_all.py')
    go(buffer, 'halve')
    attached(buffer)
    repeated('both texts change', function()
      vim.lsp.buf.rename('half')
    end, function()
      return lines(buffer):find('def half(', 1, true) and lines(user):find('half(half(value))', 1, true)
    end, 10000)
    vim.cmd('silent! bwipeout! ' .. buffer .. ' ' .. user)
    vim.fn.delete(lib)
    vim.fn.delete(use)
  end)

  check('the outline, and the kernels of the workspace', function()
    edit('scale.py')
    local found = listed(vim.lsp.buf.document_symbol)
    expect(#found >= 6, vim.inspect(found))
    found = listed(function(options)
      vim.lsp.buf.workspace_symbol('rwsm', options)
    end)
    expect(#found == 1 and found[1]:find('row_sum', 1, true), vim.inspect(found))
  end)

  check('calls lead from the kernel to its launch', function()
    local function calls(direction)
      vim.fn.setqflist({}, 'r')
      local buffer = edit('scale.py')
      attached(buffer)
      -- A list that opens takes the focus.
      local window = vim.api.nvim_get_current_win()
      return repeated('the list opens', function()
        vim.api.nvim_set_current_win(window)
        go(buffer, 'scale(y, x, n, BLOCK')
        vim.lsp.buf[direction .. '_calls']()
      end, function()
        local all = vim.fn.getqflist()
        return #all > 0 and all[1].text
      end, 10000)
    end
    expect(calls('incoming'):find('scale[', 1, true), 'the launch')
    -- And from the launch to the function of the host around it.
    go(edit('scale.py'), 'scale(y, x, n, BLOCK')
    local client = attached()
    local function asked(method, params)
      return request(client, method, params, 0)[1]
    end
    local kernel = asked('textDocument/prepareCallHierarchy', vim.lsp.util.make_position_params(0, client.offset_encoding))
    local launch = asked('callHierarchy/incomingCalls', { item = kernel }).from
    expect(asked('callHierarchy/incomingCalls', { item = launch }).from.name == 'scaled', 'the host')
    expect(calls('outgoing') == 'doubled', 'the helper')
    vim.cmd('silent! cclose')
  end)

  check('functions fold', function()
    local buffer = edit('scale.py')
    local row = go(buffer, 'def scale(')
    vim.wo.foldmethod, vim.wo.foldexpr = 'expr', 'v:lua.vim.lsp.foldexpr()'
    wait('the kernel is a fold', function()
      return vim.lsp.foldexpr(row + 1):find('^>') ~= nil
    end)
    vim.wo.foldmethod = 'manual'
  end)

  check('a selection grows by meaning', function()
    local buffer = edit('scale.py')
    local client = attached(buffer)
    go(buffer, 'offsets, mask=inside, other')
    -- This Neovim has no command for it; the plugins that have one ask the same way.
    local where = vim.lsp.util.make_position_params(0, client.offset_encoding)
    local params = { textDocument = where.textDocument, positions = { where.position } }
    local row, all = request(client, 'textDocument/selectionRange', params, buffer)[1], {}
    while row do
      local from, to = row.range.start, row.range['end']
      local ok, text = pcall(vim.api.nvim_buf_get_text, buffer, from.line, from.character, to.line, to.character, {})
      -- The last line's end is a place that no text has.
      table.insert(all, ok and table.concat(text, '\n') or 'everything')
      row = row.parent
    end
    expect(all[1] == 'offsets' and vim.tbl_contains(all, 'x + offsets'), vim.inspect(all))
  end)

  check('a file that changes on the disk is read again', function()
    edit('scale.py')
    local path = t.workspace .. '/appeared.py'
    local function found()
      return #(request(attached(), 'workspace/symbol', { query = 'newly_appeared' }, 0) or {})
    end
    expect(found() == 0, 'it is not there at first')
    vim.fn.writefile({ 'import triton', '', '', '@triton.jit', 'def newly_appeared(x):', '    pass' }, path)
    wait('it is found', function()
      return found() == 1
    end)
    vim.fn.delete(path)
    wait('it is gone', function()
      return found() == 0
    end)
  end)

  check('with a Python server names are left to it again', function()
    local client = restart({ python = 'auto' })
    expect(not client:supports_method('textDocument/references'), 'references are offered')
  end)
end
