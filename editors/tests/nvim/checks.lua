-- What checks in a real Neovim share: running them, waiting, opening files, floats.
-- **Every wait has a limit, a check that fails hides none behind it, and the last line says `N passed, N failed`.**

local workspace = vim.env.TRITIUM_TEST_WORKSPACE
local passed, failed = 0, {}

local function say(line)
  io.stdout:write('\n' .. line)
end

--- Waits by a clock of its own: a condition may itself wait for the server. One look counts for at most five seconds: a machine
--- that stood still for a minute has not been waited for.
local function wait(what, condition, limit)
  local left, last = limit or 120000, vim.uv.hrtime()
  while true do
    local value = condition()
    if value then
      return value
    end
    if left < 0 then
      error('waited in vain until ' .. what, 0)
    end
    vim.wait(20)
    local now = vim.uv.hrtime()
    left = left - math.min((now - last) / 1e6, 5000)
    last = now
  end
end

--- Makes a movement until what it is for is there: an answer that a newer state of things made pointless opens nothing. Each look lasts
--- longer than the one before.
local function repeated(what, movement, condition, patience)
  patience = patience or 3000
  while true do
    movement()
    local ok, value = pcall(wait, what, condition, patience)
    if ok then
      return value
    end
    if patience > 90000 then
      error(value, 0)
    end
    patience = patience * 2
  end
end

local function expect(condition, message)
  if not condition then
    error(message, 0)
  end
end

local function floats()
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_config(window).relative ~= ''
  end, vim.api.nvim_list_wins())
end

local function close_floats()
  for _, window in ipairs(floats()) do
    vim.api.nvim_win_close(window, true)
  end
end

--- Our server of a buffer, once it has registered what it answers: hovers come last.
local function attached(buffer)
  buffer = (buffer or 0) == 0 and vim.api.nvim_get_current_buf() or buffer
  return wait('a server is attached', function()
    local client = vim.lsp.get_clients({ bufnr = buffer, name = 'tritium' })[1]
    return client and client.initialized and client:supports_method('textDocument/hover', buffer) and client
  end)
end

--- The result of a request; one that a newer state of things made pointless is made again.
local function request(client, method, params, buffer)
  local answer
  wait(method .. ' is answered', function()
    answer = client:request_sync(method, params, 60000, buffer)
    return answer and not answer.err
  end)
  return answer.result ~= vim.NIL and answer.result or nil
end

--- Waits until the diagnostics of a buffer have not changed for a while.
local function settled(buffer)
  local changed, since = true, vim.uv.hrtime()
  local group = vim.api.nvim_create_autocmd('DiagnosticChanged', {
    callback = function(event)
      changed = changed or event.buf == buffer
    end,
  })
  local ok, err = pcall(wait, 'nothing more is told', function()
    if changed then
      changed, since = false, vim.uv.hrtime()
    end
    return vim.uv.hrtime() - since > 1.5e9
  end)
  vim.api.nvim_del_autocmd(group)
  expect(ok, err)
end

--- Of each buffer the version that the last diagnostics of our server were about.
local told = {}
local publish = vim.lsp.handlers['textDocument/publishDiagnostics']
vim.lsp.handlers['textDocument/publishDiagnostics'] = function(err, result, context, ...)
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client and client.name == 'tritium' and result then
    told[vim.uri_to_bufnr(result.uri)] = result.version
  end
  return publish(err, result, context, ...)
end

--- Waits until our server has told what it finds in a buffer's newest text.
local function wait_until_told(buffer)
  wait('the newest text is looked at', function()
    return told[buffer] == vim.lsp.util.buf_versions[buffer]
  end)
end

--- Ends our servers and forgets all buffers.
local function stop_all()
  for _, client in ipairs(vim.lsp.get_clients({ name = 'tritium' })) do
    local force = false
    repeated('it is stopped', function()
      client:stop(force)
      force = true
    end, function()
      return client:is_stopped()
    end, 30000)
  end
  vim.cmd('silent! bufdo bwipeout!')
end

--- The files as they were at first, by name, and what checks put in the place of the editor's own.
local files, usual = {}, { select = vim.ui.select, notify = vim.notify }
for name in vim.fs.dir(workspace) do
  if vim.fn.isdirectory(workspace .. '/' .. name) == 0 then
    files[name] = vim.fn.readfile(workspace .. '/' .. name, 'b')
  end
end

--- The state that every check finds: one window, files as they were, and a server that knows nothing but the settings.
local function restore()
  vim.ui.select, vim.notify = usual.select, usual.notify
  vim.cmd('silent! stopinsert')
  vim.cmd('silent! tabonly!')
  vim.cmd('silent! only!')
  close_floats()
  stop_all()
  for name in vim.fs.dir(workspace) do
    if not files[name] and vim.fn.isdirectory(workspace .. '/' .. name) == 0 then
      vim.fn.delete(workspace .. '/' .. name)
    end
  end
  for name, text in pairs(files) do
    vim.fn.writefile(text, workspace .. '/' .. name, 'b')
  end
  vim.cmd('edit! ' .. vim.fn.fnameescape(workspace .. '/softmax.py'))
  attached()
end

local function check(name, act)
  if not name:find(vim.env.TRITIUM_TEST_MATCH or '') then
    return
  end
  local ok, err = xpcall(act, function(e)
    return type(e) == 'string' and e or debug.traceback(vim.inspect(e))
  end)
  if ok then
    passed = passed + 1
    say('ok   ' .. name)
    return
  end
  table.insert(failed, name)
  say('FAIL ' .. name .. ': ' .. tostring(err))
  ok, err = pcall(restore)
  if not ok then
    say('     and what it left could not be put right: ' .. tostring(err))
  end
end

local function edit(name)
  vim.cmd('edit! ' .. vim.fn.fnameescape(workspace .. '/' .. name))
  return vim.api.nvim_get_current_buf()
end

local function lines(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
end

--- Puts the cursor on the first `needle`, moved right by `by`; returns the 0-based line.
local function go(buffer, needle, by)
  for row, text in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local column = text:find(needle, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { row, column - 1 + (by or 0) })
      return row - 1
    end
  end
  error('no ' .. needle, 0)
end

local function float_text()
  local window = floats()[1]
  return window and lines(vim.api.nvim_win_get_buf(window))
end

--- Ends the editor; its exit status says whether all passed.
local function finish()
  for _, name in ipairs(failed) do
    say('failed: ' .. name)
  end
  say(('%d passed, %d failed\n'):format(passed, #failed))
  vim.cmd(#failed == 0 and 'qa!' or 'cq!')
end

return {
  attached = attached,
  check = check,
  close_floats = close_floats,
  edit = edit,
  expect = expect,
  finish = finish,
  float_text = float_text,
  floats = floats,
  go = go,
  lines = lines,
  repeated = repeated,
  request = request,
  say = say,
  settled = settled,
  stop_all = stop_all,
  wait = wait,
  wait_until_told = wait_until_told,
  workspace = workspace,
}
