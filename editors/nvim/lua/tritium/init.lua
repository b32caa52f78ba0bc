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
  bench = { lens = 'tritium.bench', command = 'tritium.server.bench', doing = 'timing', question = 'Time which launch?' },
  tune = { lens = 'tritium.tune', command = 'tritium.server.tune', doing = 'tuning', question = 'Tune which launch?' },
}

--- What was answered last for a kernel, by file and kernel: asked again it stands there already.
local answers = {}

--- `M=4096, x.dtype=f16`: commas within brackets are part of a value.
local function parse(text)
  local set, depth, start = {}, 0, 1
  text = text .. ','
  for at = 1, #text do
    local sign = text:sub(at, at)
    if sign:match('[%[%(]') then
      depth = depth + 1
    elseif sign:match('[%]%)]') then
      depth = depth - 1
    elseif sign == ',' and depth == 0 then
      -- A condition is named by its text, which may compare.
      local part = text:sub(start, at - 1)
      local sign_at = (' ' .. part):find('[^=<>!]=[^=]')
      if sign_at then
        set[vim.trim(part:sub(1, sign_at - 1))] = vim.trim(part:sub(sign_at + 1))
      end
      start = at + 1
    end
  end
  return next(set) and set or vim.empty_dict()
end

--- Asks for the sizes of a launch that is not wholly known: one line, with every name and its default.
---@param launch table
---@param buffer? integer
---@param go fun(launch: table)
function M.ask(launch, buffer, go)
  local client = client_of(buffer)
  if not client then
    vim.notify('Tritium: no server is attached to this buffer. See :checkhealth tritium', vim.log.levels.ERROR)
    return
  end
  client:request('workspace/executeCommand', { command = 'tritium.server.ask', arguments = { launch } }, function(err, question)
    if err or not question.ok then
      vim.notify('Tritium: ' .. (err and err.message or question.text), vim.log.levels.ERROR)
      return
    end
    local key = launch.uri .. '#' .. launch.kernel
    local names = {}
    for _, free in ipairs(question.names) do
      table.insert(names, free.name .. '=' .. free.value)
    end
    vim.ui.input({ prompt = question['function'] .. ': ', default = answers[key] or table.concat(names, ', ') }, function(text)
      if text == nil then
        return
      end
      answers[key] = text
      go(vim.tbl_extend('force', launch, { set = parse(text) }))
    end)
  end, buffer)
end

--- Appends the launch that ran last with asked sizes to the buffer, as a launch block: the kernel then has a launch of its own.
---@param buffer? integer
function M.keep(buffer)
  buffer = buffer or vim.api.nvim_get_current_buf()
  local block = M.last_block
  if not block then
    vim.notify('Tritium: no launch has run with sizes that were asked for', vim.log.levels.WARN)
    return
  end
  local lines = vim.split(vim.trim(block), '\n', { plain = true })
  table.insert(lines, 1, '')
  vim.api.nvim_buf_set_lines(buffer, -1, -1, false, lines)
end

--- What the last tuning of each file has found.
local tunings = {}

--- Leaves of the tuner's rows those that the last tuning of the buffer's file has found best. It is one edit, which |u| takes back.
---@param buffer? integer
---@param done? fun(ok: boolean)
function M.write_tuned(buffer, done)
  buffer = buffer or vim.api.nvim_get_current_buf()
  done = done or function() end
  local uri = vim.uri_from_bufnr(buffer)
  local client, tuning = client_of(buffer), tunings[uri]
  if not client or not (tuning and tuning.write) then
    vim.notify('Tritium: ' .. (tuning and 'nothing that was found would change the file' or ':Tritium tune has found no rows to write'), vim.log.levels.WARN)
    return done(false)
  end
  local params = { command = 'tritium.server.writeTuned', arguments = { { uri = uri, tuning = tuning } } }
  client:request('workspace/executeCommand', params, function(err, answer)
    if err or not answer.ok then
      vim.notify('Tritium: ' .. (err and err.message or answer.text), vim.log.levels.ERROR)
      return done(false)
    end
    vim.lsp.util.apply_workspace_edit(answer.edit, client.offset_encoding)
    done(true)
  end, buffer)
end

--- What cancels the runs under way, by their turn.
local under_way = {}

--- Runs one launch, runs it under checks, or times it. `launch` is what a lens carries: `{ uri, launch, kernel }`.
---@param launch table
---@param buffer? integer
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
---@param deed? 'run'|'sanitize'|'bench'|'tune'
function M.execute(launch, buffer, done, deed)
  if launch.ask and not launch.set then
    return M.ask(launch, buffer, function(answered)
      M.execute(answered, buffer, done, deed)
    end)
  end
  deed = M.deeds[deed or 'run']
  local client = client_of(buffer)
  if not client then
    vim.notify('Tritium: no server is attached to this buffer. See :checkhealth tritium', vim.log.levels.ERROR)
    return
  end
  vim.notify(('Tritium: %s %s …'):format(deed.doing, launch.launch and launch.launch ~= vim.NIL and launch.launch or launch.kernel))
  turn = turn + 1
  local mine = turn
  local params = { command = deed.command, arguments = { launch }, workDoneToken = 'tritium.run.' .. mine }
  local sent, id = client:request('workspace/executeCommand', params, function(err, outcome)
    under_way[mine] = nil
    if err then
      outcome = { ok = false, text = err.message }
    end
    if outcome.block and outcome.block ~= vim.NIL then
      M.last_block = outcome.block
    end
    local offer = ''
    if deed == M.deeds.tune then
      tunings[launch.uri] = outcome
      offer = outcome.write and ('. :Tritium tune! – ' .. outcome.write) or ''
    end
    vim.notify('Tritium: ' .. (outcome.summary or first_line(outcome.text)) .. offer, outcome.ok and vim.log.levels.INFO or vim.log.levels.ERROR)
    M.float(outcome.text)
    if done then
      done(outcome)
    end
  end, buffer)
  if sent then
    under_way[mine] = function()
      client:cancel_request(id)
    end
  end
end

--- Cancels every run under way, which then shows nothing more.
---@return integer how many there were
function M.stop()
  local all = under_way
  under_way = {}
  for _, cancel in pairs(all) do
    cancel()
  end
  return vim.tbl_count(all)
end

--- Runs the launch under checks whose lens stands last above the cursor, or the file's first; what is found is marked in the buffer.
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
function M.sanitize(done)
  M.run(done, 'sanitize')
end

--- Times the launch whose lens stands last above the cursor, or the file's first.
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
function M.bench(done)
  M.run(done, 'bench')
end

--- Finds the best row of the tuner of the launch whose lens stands last above the cursor, or the file's first.
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
function M.tune(done)
  M.run(done, 'tune')
end

--- Runs the launch whose lens stands last above the cursor, or the file's first; asks when one kernel has several.
---@param done? fun(outcome: { ok: boolean, text: string, summary?: string })
---@param deed? 'run'|'sanitize'|'bench'|'tune'
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
