-- What kernels take and cost where the person looks: rules about resources by name, figures and their sources, boards and roofs, progress,
-- cancellation, and what Triton itself made of a kernel.
-- **Every check asks the editor; each server that one starts with other surroundings is ended by it.**

return function(t)
  local attached, check, edit, expect, go, hover, hover_tells, lines, wait =
    t.attached, t.check, t.edit, t.expect, t.go, t.hover, t.hover_tells, t.lines, t.wait

  local function json(path)
    return vim.json.decode(table.concat(vim.fn.readfile(path), '\n'), { luanil = { object = true } })
  end

  local stop_all = t.stop_all

  --- Does something with a server of other surroundings, then puts the usual one back.
  local function with_environment(environment, act)
    local usual = {}
    for name in pairs(environment) do
      usual[name] = vim.env[name] or ''
    end
    stop_all()
    vim.lsp.config('tritium', { cmd_env = environment })
    local ok, err = pcall(act)
    stop_all()
    vim.lsp.config('tritium', { cmd_env = usual })
    attached(edit('softmax.py'))
    if not ok then
      error(err, 0)
    end
  end

  --- What stands under a diagnostic.
  local function under(buffer, problem)
    return table.concat(vim.api.nvim_buf_get_text(buffer, problem.lnum, problem.col, problem.end_lnum, problem.end_col, {}), '\n')
  end

  check('every rule about resources is told at its place, with the configurations in which it holds', function()
    local expected = json(t.workspace .. '/resources.json')
    local buffer = edit('resources.py')
    for _, row in ipairs(expected) do
      local found = wait(row.code .. ' is there', function()
        local all = vim.tbl_filter(function(one)
          return one.code == row.code
        end, vim.diagnostic.get(buffer))
        return #all > 0 and all
      end)
      expect(#found == 1, row.code .. ' is told once: ' .. vim.inspect(found))
      local problem = found[1]
      expect(problem.source == 'tritium' and problem.severity == row.severity, vim.inspect(problem))
      local line = vim.trim(vim.api.nvim_buf_get_lines(buffer, problem.lnum, problem.lnum + 1, false)[1])
      expect(vim.startswith(line, row.line) and under(buffer, problem) == row.text, row.code .. ' stands at ' .. under(buffer, problem))
      for _, words in ipairs(row.says) do
        expect(problem.message:find(words, 1, true), row.code .. ' says ' .. problem.message)
      end
      expect(problem.message:match('\nonly under (.*)$') == row.only, row.code .. ' says ' .. problem.message)
      local related = vim.tbl_map(function(one)
        return one.message
      end, vim.tbl_get(problem, 'user_data', 'lsp', 'relatedInformation') or {})
      for _, words in ipairs(row.related) do
        expect(vim.tbl_contains(related, words), row.code .. ' is related to ' .. vim.inspect(related))
      end
    end
  end)

  check('the page of every such rule shows in the editor what it says', function()
    local pages = vim.fn.glob(t.root .. '/semantics/src/diagnostics/{RES,TUN,MEM}*.md', true, true)
    expect(#pages >= 13, vim.inspect(pages))
    for _, page in ipairs(pages) do
      local code = vim.fn.fnamemodify(page, ':t:r')
      local text = table.concat(vim.fn.readfile(page), '\n')
      -- What only shows with an option of the command line does not show here.
      local headings = text:find('\n## Wrong\n\nWith `') and {} or { Wrong = true, Right = false }
      for heading, is_wrong in pairs(headings) do
        local name = ('%s_%s.py'):format(code, heading)
        local example = text:match('\n## ' .. heading .. '\n.-```python\n(.-)\n```')
        vim.fn.writefile(vim.split(example, '\n'), t.workspace .. '/' .. name)
        local buffer = edit(name)
        local client = attached(buffer)
        local function told()
          return vim.iter(vim.diagnostic.get(buffer)):any(function(one)
            return one.code == code
          end)
        end
        if is_wrong then
          wait(name .. ' has it', told)
        else
          -- An answer about the whole file comes after everything that could be pushed.
          t.request(client, 'textDocument/diagnostic', { textDocument = vim.lsp.util.make_text_document_params(buffer) }, buffer)
          expect(not told(), name .. ' has it')
        end
        vim.cmd('bwipeout!')
        vim.fn.delete(t.workspace .. '/' .. name)
      end
    end
  end)

  check('every fix that is offered for an example of the rules mends what it is for', function()
    local name = 'fixed.py'
    local path = t.workspace .. '/' .. name
    local mended, left = 0, {}
    for _, page in ipairs(vim.fn.glob(t.root .. '/semantics/src/diagnostics/*.md', true, true)) do
      local code = vim.fn.fnamemodify(page, ':t:r')
      local example = table.concat(vim.fn.readfile(page), '\n'):match('\n## Wrong\n.-```python\n(.-)\n```')
      vim.fn.writefile(vim.split(example, '\n'), path)
      local buffer = edit(name)
      local client = attached(buffer)
      local function asked(method, params)
        params.textDocument = vim.lsp.util.make_text_document_params(buffer)
        return t.request(client, method, params, buffer)
      end
      -- An answer about the whole file, generated code included.
      local function told()
        return vim.tbl_filter(function(one)
          return one.code == code
        end, asked('textDocument/diagnostic', {}).items)
      end
      local problem = told()[1]
      if problem then
        local context = { diagnostics = { problem }, only = { 'quickfix' } }
        local actions = asked('textDocument/codeAction', { range = problem.range, context = context })
        for _, action in ipairs(actions) do
          if action.diagnostics and action.diagnostics[1].code == code then
            vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
            local is_left = vim.iter(told()):any(function(one)
              return one.message == problem.message
            end)
            if not is_left then
              mended = mended + 1
            else
              table.insert(left, ('%s: %s:\n%s'):format(code, action.title, lines(buffer)))
            end
            vim.cmd('edit!')
          end
        end
      end
    end
    vim.cmd('bwipeout!')
    vim.fn.delete(path)
    t.say(('     fixes applied: %d'):format(mended + #left))
    expect(#left == 0, table.concat(left, '\n'))
    expect(mended >= 40, mended .. ' fixes are offered')
  end)

  check('a hover tells what a block of threads holds, and where that would change', function()
    go(edit('tuned.py'), 'matmul(A')
    hover_tells({
      '12.0 KiB for `local_alloc` of line 26',
      '8.0 KiB for `convert_layout` of line 32, in turn',
      '3 barriers in the code',
      'limited by registers',
      'registers or less',
      'registers or more',
      'most registers are live in line 26: acc 32',
    })
    -- What it costs in the names of its arguments, and all three kinds of bytes with what they assume.
    local text = hover_tells({
      'one program: 262144·cdiv(K, 32) FLOP',
      'loads and stores ask for 4.33 GB, 101 MB of them different',
      'bytes to and from DRAM: 187 MB',
      'The bytes assume: `A`, `B`, `C`: programs of one wave share it through L2',
      'limiter: L2 (',
      'then shared memory (',
      'waves: 3.88 of 1056 programs, 12 % of the last one idle',
      'would gain ~1.33×',
      'would gain ~1.03×',
    })
    expect(text:find('would gain ~1.33×', 1, true) < text:find('would gain ~1.03×', 1, true), 'the advice that gains most comes first')
  end)

  check('three lines come first, and K again leads to what is behind them', function()
    local buffer = edit('tuned.py')
    attached(buffer)
    local home = vim.api.nvim_get_current_win()
    -- The editor's own is of the buffer, where nobody has another.
    vim.keymap.set('n', 'K', function()
      vim.lsp.buf.hover({ max_height = 4 })
    end, { buffer = buffer })
    local float = t.repeated('the float opens', function()
      t.close_floats()
      go(buffer, 'matmul(A')
      vim.cmd.normal('K')
    end, function()
      return t.floats()[1]
    end)
    local told = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(float), 0, -1, false)
    expect(told[1]:find('**compute bound**, ~486.5 µs on H100 (estimated)', 1, true), vim.inspect(told))
    expect(told[2]:find('^%d+ registers') or told[2]:find('^~%d+ registers'), vim.inspect(told))
    expect(told[2]:find('shared memory (exact)', 1, true) and told[2]:find('occupancy, limited by registers', 1, true), vim.inspect(told))
    expect(told[3]:find('would gain ~1.33×', 1, true) == 1, vim.inspect(told))
    expect(vim.api.nvim_win_get_height(float) <= 4 and #told > 10, vim.api.nvim_win_get_height(float) .. ' of ' .. #told)
    expect(vim.api.nvim_get_current_win() == home, 'the cursor stays')
    vim.cmd.normal('K')
    wait('the cursor is in the float', function()
      return vim.api.nvim_get_current_win() == float
    end)
    vim.cmd.normal('G')
    expect(vim.fn.line('w$') == #told, 'all of it can be read there')
    vim.cmd.close()
    vim.keymap.set('n', 'K', vim.lsp.buf.hover, { buffer = buffer })
  end)

  check(':Tritium report tells the whole', function()
    go(edit('tuned.py'), 'total = tl.dot')
    attached(0)
    vim.cmd.Tritium('report')
    local buffer = wait('it opens', function()
      local found = vim.api.nvim_get_current_buf()
      return vim.bo[found].filetype == 'tritium_chart' and found
    end)
    for _, words in ipairs({ '**compute bound**', 'registers, no spills (exact, ptxas)', 'limiter: L2 (', '(kernel) matmul(A: *f16', 'The time assumes' }) do
      expect(lines(buffer):find(words, 1, true), words .. ' is missing in ' .. lines(buffer))
    end
    vim.cmd.close()
  end)

  check('hovers tell why an access is narrow, and of the banks of shared memory', function()
    for _, row in ipairs({
      { 'resources.py', 'tl.load(X + tl.program', '2 bytes an instruction and thread, 16 sectors a request (2 would do); not wider: addresses are only known' },
      { 'resources.py', 'tl.load(X + at, mask', 'not wider: the mask may change after every element' },
      { 'resources.py', 'tl.load(X + at * stride', '32 sectors a request (4 would do)' },
      { 'tuned.py', 'tl.store(C', 'written to shared memory: 16 bytes an instruction and thread, without bank conflicts' },
    }) do
      go(edit(row[1]), row[2], 3)
      hover_tells({ row[3] })
    end
  end)

  check('registers are exact once ptxas has answered', function()
    attached(edit('softmax.py'))
    wait('the exact figure comes', function()
      go(0, 'def softmax', 4)
      return hover():find('%d+ registers, no spills %(exact, ptxas%)')
    end)
  end)

  check('without ptxas they are an estimate with its band, and the hover says why', function()
    with_environment({ TRITON_PTXAS_PATH = t.workspace .. '/no/such/ptxas' }, function()
      attached(edit('softmax.py'))
      wait('the reason comes', function()
        go(0, 'def softmax', 4)
        local text = hover()
        return text:find('registers: ~%d+ per thread, %d+ to %d+ %(estimated, within ±%d+ %% for 9 of 10 kernels%)') and text:find('no exact figure: the ptxas named by TRITON_PTXAS_PATH', 1, true)
      end)
    end)
  end)

  check('every board can be looked at, and boards that a project describes', function()
    local project = t.workspace .. '/pyproject.toml'
    local function offered()
      return vim.fn.getcompletion('Tritium gpu ', 'cmdline')
    end
    attached(edit('softmax.py'))
    go(0, 'z = x')
    for _, board in ipairs({ 'A100', 'H100', 'H200', 'L40S', 'RTX4090', 'B200' }) do
      wait(board .. ' is offered', function()
        return vim.tbl_contains(offered(), board)
      end)
      vim.cmd.Tritium('gpu', board)
      go(0, 'def softmax', 4)
      wait('the hover is about ' .. board, function()
        return hover():find(' on ' .. board, 1, true)
      end)
    end
    vim.cmd.Tritium('gpu', 'H100')
    stop_all()
    local row = { sm = '"sm_90"', ['sm-count'] = 114, clock = 1755, ['dram-bandwidth'] = 2000, l2 = 50, ['f16-tflops'] = 756, ['tf32-tflops'] = 378, ['f32-tflops'] = 51 }
    local text = { '[tool.tritium]', 'gpu = "lab"', '', '[tool.tritium.boards.lab]' }
    for key, value in vim.spairs(row) do
      table.insert(text, ('%s = %s'):format(key, value))
    end
    vim.fn.writefile(text, project)
    attached(edit('softmax.py'))
    local ok, err = pcall(wait, 'the hover is about it', function()
      go(0, 'def softmax', 4)
      return hover():find(' on lab', 1, true)
    end)
    vim.fn.delete(project)
    stop_all()
    attached(edit('softmax.py'))
    expect(ok, err)
  end)

  check('measured roofs stand beside those of the datasheet', function()
    local roofs = vim.fn.tempname()
    vim.fn.writefile({ '[H100]', 'dram-bandwidth = 3070', 'f16-tflops = 690' }, roofs)
    with_environment({ TRITIUM_ROOFS = roofs }, function()
      attached(edit('tuned.py'))
      go(0, 'total = tl.dot')
      t.close_floats()
      vim.cmd.Tritium('roofline')
      local text = wait('the chart opens', t.float_text)
      for _, words in ipairs({ 'DRAM 3.35 TB/s (datasheet)', 'DRAM 3.07 TB/s (measured)' }) do
        expect(text:find(words, 1, true), 'no ' .. words .. ' in\n' .. text)
      end
      t.close_floats()
    end)
  end)

  --- What the editor says of progress while `act` lasts, as `kind title: message`.
  local function progress(act)
    local told = {}
    local group = vim.api.nvim_create_autocmd('LspProgress', {
      callback = function(event)
        local value = event.data.params.value
        table.insert(told, ('%s %s%s'):format(value.kind, value.title, value.message and ': ' .. value.message or ''))
        -- What a status line would show.
        table.insert(told, 'status ' .. vim.lsp.status())
      end,
    })
    local ok, err = pcall(act, told)
    vim.api.nvim_del_autocmd(group)
    expect(ok, err)
    return told
  end

  check(':Tritium check looks at every file, shows how far it is and lists what it finds', function()
    attached(edit('softmax.py'))
    local items
    local told = progress(function()
      require('tritium.check').run(function(found)
        items = found
      end)
      wait('the answer comes', function()
        return items
      end)
    end)
    expect(told[1] == 'begin Checking kernels', vim.inspect(told))
    expect(vim.tbl_contains(told, 'report Checking kernels: tuned.py'), vim.inspect(told))
    expect(vim.iter(told):any(function(one)
      return one:find('status .*%d+%%: Checking kernels: tuned.py')
    end), vim.inspect(told))
    expect(vim.iter(told):any(function(one)
      return vim.startswith(one, 'end Checking kernels')
    end), vim.inspect(told))
    local list = vim.fn.getqflist({ title = 0, items = 0 })
    expect(list.title:find('Tritium', 1, true) and #list.items == #items, vim.inspect(list))
    -- A file that no buffer shows, with its place.
    local problem = vim.iter(items):find(function(one)
      return vim.startswith(one.text, 'SHP001 ')
    end)
    expect(problem and vim.fs.basename(problem.filename) == 'broken.py' and problem.lnum == 13 and problem.type == 'E', vim.inspect(items))
    vim.cmd('silent! cclose')
  end)

  check(':Tritium check stop cancels it, and the server goes on', function()
    local buffer = edit('softmax.py')
    local client = attached(buffer)
    local text = vim.fn.readfile(t.workspace .. '/resources.py')
    local round, problem = 0, nil
    progress(function(told)
      wait('the files are known', function()
        -- Enough to be in the middle of, and new every time: what is known already is told at once.
        round = round + 1
        for i = 1, 40 do
          vim.fn.writefile(vim.list_extend({ '# ' .. round }, text), ('%s/copy_%02d.py'):format(t.workspace, i))
        end
        local begun = false
        local once = vim.api.nvim_create_autocmd('LspProgress', {
          callback = function(event)
            begun = begun or (event.data.params.value.message or ''):find('copy_01', 1, true) ~= nil
          end,
        })
        problem = nil
        require('tritium.check').run(function(_, why)
          problem = why or 'finished'
        end)
        wait('it is under way', function()
          return begun or problem
        end)
        vim.api.nvim_del_autocmd(once)
        if problem then
          return false
        end
        vim.cmd.Tritium('check', 'stop')
        return problem == 'stopped'
      end)
      -- It ends in the editor's eyes, too.
      wait('its progress ends', function()
        return vim.startswith(told[#told - 1] or '', 'end Checking kernels')
      end)
    end)
    for i = 1, 40 do
      vim.fn.delete(('%s/copy_%02d.py'):format(t.workspace, i))
    end
    go(edit('softmax.py'), 'x = tl.load')
    hover_tells({ 'x: f32[1024]' })
    expect(attached(buffer).id == client.id, 'it is the same server')
  end)

  check('a run shows that it is under way', function()
    go(edit('softmax.py'), 'numerator = ')
    local outcome
    local told = progress(function()
      require('tritium').run(function(found)
        outcome = found
      end)
      wait('the result comes', function()
        return outcome
      end)
    end)
    t.close_floats()
    expect(outcome.ok, vim.inspect(outcome))
    expect(told[1] == 'begin Running rows' and vim.tbl_contains(told, 'status Running rows'), vim.inspect(told))
    expect(vim.tbl_contains(told, 'end Running rows'), vim.inspect(told))
  end)

  check('colours follow the text without asking for all of them again', function()
    local buffer = edit('scale.py')
    local client = attached(buffer)
    local function is_mask(needle)
      local row = go(buffer, needle)
      local column = vim.api.nvim_win_get_cursor(0)[2]
      return vim.iter(vim.lsp.semantic_tokens.get_at_pos(buffer, row, column) or {}):any(function(token)
        return token.type == 'mask'
      end)
    end
    wait('it is coloured', function()
      return is_mask('inside = ')
    end)
    local asked = {}
    local request = client.request
    client.request = function(self, method, ...)
      asked[method] = (asked[method] or 0) + 1
      return request(self, method, ...)
    end
    vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { '# Typed above.' })
    local row = go(buffer, '    value = tl.load')
    vim.api.nvim_buf_set_lines(buffer, row, row, false, { '    even = offsets % 2 == 0' })
    local ok, err = pcall(wait, 'the new name is coloured', function()
      return is_mask('even = ') and is_mask('inside = ')
    end)
    client.request = request
    edit('scale.py')
    expect(ok, err)
    expect((asked['textDocument/semanticTokens/full/delta'] or 0) > 0, vim.inspect(asked))
    expect(not asked['textDocument/semanticTokens/full'], vim.inspect(asked))
  end)

  check('bytes are counted where the editor offers that, and units of UTF-16 where it does not', function()
    local buffer = edit('softmax.py')
    expect(attached(buffer).offset_encoding == 'utf-8', attached(buffer).offset_encoding)
    local id = vim.lsp.start({
      name = 'wide',
      cmd = { vim.env.TRITIUM_BIN, 'lsp' },
      root_dir = t.workspace,
      before_init = function(params)
        params.capabilities.general.positionEncodings = { 'utf-16' }
      end,
    })
    local wide = wait('it is attached', function()
      local client = vim.lsp.get_client_by_id(id)
      return client and client.initialized and client
    end)
    expect(wide.offset_encoding == 'utf-16', wide.offset_encoding)
    wide:stop(true)
    wait('it is gone', function()
      return wide:is_stopped()
    end)
  end)

  --- An entry of Triton's cache about softmax.py: machine code that ptxas makes of a few lines.
  local function stand_in(cache, store)
    local folder = cache .. '/entry'
    vim.fn.mkdir(folder, 'p')
    local path = t.workspace .. '/softmax.py'
    local function write(extension, text)
      vim.fn.writefile(vim.split(text, '\n'), folder .. '/softmax.' .. extension)
    end
    write('json', vim.json.encode({ target = { backend = 'cuda', arch = 90, warp_size = 32 }, num_warps = 4, num_stages = 3, shared = 128 }))
    write('ttgir', ('tt.store %%0, %%1 loc(#loc1)\n#loc1 = loc("%s":%d:4)'):format(path, store + 1))
    write('ptx', ([[
.version 8.0
.target sm_90
.address_size 64
.file 1 "%s"
.visible .entry softmax(.param .u64 Y)
{
  .reg .b64 %%rd<2>;
  .reg .b32 %%r<2>;
  .loc 1 %d 4
  ld.param.u64 %%rd1, [Y];
  mov.b32 %%r1, 7;
  st.global.b32 [%%rd1], %%r1;
  ret;
}]]):format(path, store + 1))
    local made = vim.system({ vim.env.TRITON_PTXAS_PATH or 'ptxas', '-lineinfo', '-arch=sm_90', 'softmax.ptx', '-o', 'softmax.cubin' }, { cwd = folder, text = true }):wait()
    expect(made.code == 0, made.stderr)
  end

  --- What Triton itself makes of the kernel, where there is a Python with Triton.
  local function real(cache)
    local types = { Y = '*fp32', X = '*fp32', stride_y = 'i32', stride_x = 'i32', columns = 'i32' }
    local made = vim.system({
      vim.env.TRITIUM_TRITON_PYTHON, t.here .. '/../triton_entry.py', t.workspace .. '/softmax.py', 'softmax', '90', vim.json.encode(types), '{"BLOCK": 1024}',
    }, { env = { TRITON_CACHE_DIR = cache }, text = true }):wait()
    expect(made.code == 0, made.stderr)
  end

  --- Its TTGIR, PTX and SASS stand beside the source and move with it, both ways.
  local function triton_beside(make)
    local cache = vim.fn.tempname()
    local store = go(edit('softmax.py'), 'tl.store')
    make(cache, store)
    with_environment({ TRITON_CACHE_DIR = cache }, function()
      for stage, words in pairs({ triton_ttgir = 'tt.store', triton_ptx = 'st.global', triton_sass = 'STG' }) do
        local source = edit('softmax.py')
        attached(source)
        go(source, 'z = x')
        vim.cmd.Tritium('view', stage)
        wait(stage .. ' opens', function()
          local buffer = t.view(stage)
          return buffer and lines(buffer):find(words, 1, true)
        end)
        local buffer, window = t.view(stage)
        expect(vim.startswith(lines(buffer), '// triton: kernel softmax, num_warps 4, num_stages 3, '), lines(buffer):sub(1, 200))
        expect(not lines(buffer):find('not the options of the active configuration', 1, true), 'it is the active configuration')
        local home = vim.api.nvim_get_current_win()
        go(source, 'tl.store')
        vim.cmd.doautocmd('CursorMoved')
        local row = t.line_with(buffer, words)
        expect(vim.tbl_contains(t.marked(buffer), row), stage .. ' marks ' .. vim.inspect(t.marked(buffer)) .. ', not ' .. row)
        vim.api.nvim_set_current_win(window)
        vim.api.nvim_win_set_cursor(window, { row + 1, 0 })
        vim.cmd.doautocmd('CursorMoved')
        expect(vim.tbl_contains(t.marked(source), store), stage .. ' leads to ' .. vim.inspect(t.marked(source)))
        vim.api.nvim_set_current_win(home)
        vim.cmd.only()
      end
    end)
    vim.fn.delete(cache, 'rf')
  end

  check("Triton's TTGIR, PTX and SASS stand beside ours and move with the source", function()
    triton_beside(stand_in)
  end)

  if (vim.env.TRITIUM_TRITON_PYTHON or '') ~= '' then
    check("what the installed Triton compiles stands beside ours and moves with the source", function()
      triton_beside(real)
    end)
  end
end
