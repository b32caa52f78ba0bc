-- What checks in a real Neovim share: running them, waiting, opening files, floats.
-- **Every wait has a limit, and the last line says `N passed, N failed`.**

local workspace = vim.env.TRITIUM_TEST_WORKSPACE
local passed, failed = 0, 0

local function say(line)
  io.stdout:write('\n' .. line)
end

--- Waits by a clock of its own: a condition may itself wait for the server. One look counts for at most five seconds: a machine
--- that stood still for a minute has not been waited for.
local function wait(what, condition, limit)
  local left, last = limit or 30000, vim.uv.hrtime()
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

local function expect(condition, message)
  if not condition then
    error(message, 0)
  end
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
  else
    failed = failed + 1
  end
  say((ok and 'ok   ' or 'FAIL ') .. name .. (ok and '' or ': ' .. tostring(err)))
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

local function float_text()
  local window = floats()[1]
  return window and lines(vim.api.nvim_win_get_buf(window))
end

--- The text of the float that `ask` opens. It is asked again where a newer state of things made the answer pointless: then none opens.
local function opened(what, ask)
  close_floats()
  return wait(what .. ' opens', function()
    ask()
    local ok, text = pcall(wait, what .. ' opens', float_text, 3000)
    return ok and text
  end)
end

--- Waits until nothing has changed what is told of mistakes for so many milliseconds.
local function calm(milliseconds)
  local last = vim.uv.hrtime()
  local watch = vim.api.nvim_create_autocmd('DiagnosticChanged', {
    callback = function()
      last = vim.uv.hrtime()
    end,
  })
  local ok, err = pcall(wait, 'nothing changes any more', function()
    return (vim.uv.hrtime() - last) / 1e6 > milliseconds
  end)
  vim.api.nvim_del_autocmd(watch)
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
    client:stop()
    wait('it is stopped', function()
      return client:is_stopped()
    end)
  end
  vim.cmd('silent! bufdo bwipeout!')
end

--- Ends the editor; its exit status says whether all passed.
local function finish()
  say(('%d passed, %d failed\n'):format(passed, failed))
  vim.cmd(failed == 0 and 'qa!' or 'cq!')
end

return {
  calm = calm,
  check = check,
  close_floats = close_floats,
  edit = edit,
  expect = expect,
  finish = finish,
  float_text = float_text,
  floats = floats,
  go = go,
  lines = lines,
  opened = opened,
  say = say,
  stop_all = stop_all,
  wait = wait,
  wait_until_told = wait_until_told,
  workspace = workspace,
}
