--- Tritium in Neovim: running launches and showing what came of them.
---
--- Diagnostics, hovers, hints, lenses and fixes are Neovim's own; this module adds what the protocol has no request for.
--- **Nothing here runs before somebody asks for it.**

local M = {}

--- Shows text in a float at the cursor; `q` or leaving the place closes it.
---@param text string
---@return integer buffer, integer window
function M.float(text)
  local buffer, window = vim.lsp.util.open_floating_preview(vim.split(vim.trim(text), '\n', { plain = true }), 'text', {
    border = 'rounded',
    focus_id = 'tritium.run',
    title = ' Tritium ',
    max_width = math.max(40, math.floor(vim.o.columns * 0.9)),
    wrap = false,
  })
  vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = buffer, nowait = true, silent = true })
  return buffer, window
end

---@param buffer? integer
---@return vim.lsp.Client?
local function client_of(buffer)
  return vim.lsp.get_clients({ name = 'tritium', bufnr = buffer })[1]
end

--- Counts runs: each has a progress of its own.
local turn = 0

local function first_line(text)
  return vim.trim(text:match('[^\n]*%S[^\n]*') or text)
end

--- What can be done with a launch: the command that the lens carries, the server's, and its words.
M.deeds = {
  run = { lens = 'tritium.run', command = 'tritium.server.run', doing = 'running', question = 'Run which launch?' },
  sanitize = { lens = 'tritium.sanitize', command = 'tritium.server.sanitize', doing = 'checking', question = 'Check which launch?' },
}

--- Runs one launch, or runs it under checks. `launch` is what a lens carries: `{ uri, launch, kernel }`.
---@param launch table
---@param buffer? integer
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
---@param deed? 'run'|'sanitize'
function M.execute(launch, buffer, done, deed)
  deed = M.deeds[deed or 'run']
  local client = client_of(buffer)
  if not client then
    vim.notify('Tritium: no server is attached to this buffer. See :checkhealth tritium', vim.log.levels.ERROR)
    return
  end
  vim.notify(('Tritium: %s %s …'):format(deed.doing, launch.launch and launch.launch ~= vim.NIL and launch.launch or launch.kernel))
  turn = turn + 1
  local params = { command = deed.command, arguments = { launch }, workDoneToken = 'tritium.run.' .. turn }
  client:request('workspace/executeCommand', params, function(err, outcome)
    if err then
      outcome = { ok = false, text = err.message }
    end
    vim.notify('Tritium: ' .. (outcome.summary or first_line(outcome.text)), outcome.ok and vim.log.levels.INFO or vim.log.levels.ERROR)
    M.float(outcome.text)
    if done then
      done(outcome)
    end
  end, buffer)
end

--- Runs the launch under checks whose lens stands last above the cursor, or the file's first; what is found is marked in the buffer.
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
function M.sanitize(done)
  M.run(done, 'sanitize')
end

--- Runs the launch whose lens stands last above the cursor, or the file's first; asks when one kernel has several.
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
---@param deed? 'run'|'sanitize'
function M.run(done, deed)
  deed = deed or 'run'
  local buffer = vim.api.nvim_get_current_buf()
  local client = client_of(buffer)
  if not client then
    vim.notify('Tritium: no server is attached to this buffer. See :checkhealth tritium', vim.log.levels.ERROR)
    return
  end
  local cursor = vim.api.nvim_win_get_cursor(0)[1] - 1
  local params = { textDocument = vim.lsp.util.make_text_document_params(buffer) }
  client:request('textDocument/codeLens', params, function(err, lenses)
    if err then
      vim.notify('Tritium: ' .. err.message, vim.log.levels.ERROR)
      return
    end
    local all = vim.tbl_filter(function(lens)
      return lens.command ~= nil and lens.command.command == M.deeds[deed].lens
    end, lenses or {})
    if #all == 0 then
      vim.notify('Tritium: no kernel in this file has a launch. See :help tritium-launches', vim.log.levels.WARN)
      return
    end
    local line = -1
    for _, lens in ipairs(all) do
      local start = lens.range.start.line
      if start <= cursor and start > line then
        line = start
      end
    end
    local near = vim.tbl_filter(function(lens)
      return lens.range.start.line == line
    end, all)
    if #near == 0 then
      near = { all[1] }
    end
    local function go(lens)
      if lens then
        M.execute(lens.command.arguments[1], buffer, done, deed)
      end
    end
    if #near == 1 then
      go(near[1])
    else
      vim.ui.select(near, {
        prompt = M.deeds[deed].question,
        format_item = function(lens)
          local launch = lens.command.arguments[1]
          return launch.launch and launch.launch ~= vim.NIL and launch.launch or launch.kernel
        end,
      }, go)
    end
  end, buffer)
end

return M
