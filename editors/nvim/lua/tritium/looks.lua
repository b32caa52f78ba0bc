--- What is looked at: the active configuration of a kernel, the board and the version of Triton.

local requests = require('tritium.requests')

local M = {}

--- What the server answered last for a buffer; `require('tritium.looks').status()` shows it in a status line.
local known = {}

local function active(all)
  for _, choice in ipairs(all) do
    if choice.is_active then
      return choice
    end
  end
end

local function again(buffer)
  vim.lsp.codelens.refresh({ bufnr = buffer })
  require('tritium.views').refresh_later()
  M.update(buffer)
end

--- `H100 · Triton 3.6 · BLOCK=128`, or nothing where there is no kernel. What of the file is not checked stands behind it:
--- `· not checked: 1 Gluon kernel`.
---@return string
function M.status()
  return known[vim.api.nvim_get_current_buf()] or ''
end

---@param buffer? integer
---@param done? fun(choices?: table, problem?: string)
function M.update(buffer, done)
  buffer = buffer or vim.api.nvim_get_current_buf()
  local more = buffer == vim.api.nvim_get_current_buf() and requests.at(0) or {}
  requests.ask(buffer, 'tritium/choices', more, function(choices, problem)
    if choices then
      local parts = {}
      for _, all in ipairs({ choices.gpus, choices.tritons, choices.configurations }) do
        local choice = active(all)
        table.insert(parts, choice and (all == choices.tritons and 'Triton ' or '') .. choice.label or nil)
      end
      if #(choices.unchecked or {}) > 0 then
        table.insert(parts, 'not checked: ' .. table.concat(choices.unchecked, ', '))
      end
      known[buffer] = table.concat(parts, ' · ')
    else
      known[buffer] = nil
    end
    if done then
      done(choices, problem)
    end
  end)
end

--- The client, which may have ended while somebody was choosing.
local function still_there(buffer)
  local client = requests.client(buffer)
  if not client then
    requests.warn('the server has stopped')
  end
  return client
end

local function pick(prompt, all, given, chosen)
  if given and given ~= '' then
    for _, choice in ipairs(all) do
      if choice.id:lower() == given:lower() or choice.label == given then
        return chosen(choice)
      end
    end
    return requests.warn(('there is no `%s` to choose'):format(given))
  end
  vim.ui.select(all, {
    prompt = prompt,
    format_item = function(choice)
      return ('%s%s%s'):format(choice.is_active and '● ' or '  ', choice.label, choice.detail ~= '' and (' — ' .. choice.detail) or '')
    end,
  }, function(choice)
    if choice then
      chosen(choice)
    end
  end)
end

--- Makes a configuration the one that hovers, hints, views and charts are about.
---@param given? string
---@param done? fun()
function M.choose_configuration(given, done)
  local buffer = vim.api.nvim_get_current_buf()
  M.update(buffer, function(choices, problem)
    if not choices or choices.kernel == vim.NIL then
      return requests.warn(problem or 'no kernel here')
    end
    pick('Which configuration of ' .. choices.kernel .. '?', choices.configurations, given, function(choice)
      local argument = { uri = vim.uri_from_bufnr(buffer), kernel = choices.kernel, configuration = choice.id }
      local client = still_there(buffer)
      if not client then
        return
      end
      client:request('workspace/executeCommand', { command = 'tritium.server.activate', arguments = { argument } }, function(err)
        if err then
          return requests.warn(err.message)
        end
        again(buffer)
        if done then
          done()
        end
      end, buffer)
    end)
  end)
end

--- Changes a setting of the running server: `gpu` or `triton`.
---@param name 'gpu'|'triton'
---@param given? string
---@param done? fun()
function M.choose_setting(name, given, done)
  local buffer = vim.api.nvim_get_current_buf()
  M.update(buffer, function(choices, problem)
    if not choices then
      return requests.warn(problem)
    end
    local all = name == 'gpu' and choices.gpus or choices.tritons
    pick(name == 'gpu' and 'Which board?' or 'Which version of Triton?', all, given, function(choice)
      local client = still_there(buffer)
      if not client then
        return
      end
      client.settings = vim.tbl_deep_extend('force', client.settings or {}, { tritium = { [name] = choice.id } })
      client:notify('workspace/didChangeConfiguration', { settings = client.settings })
      again(buffer)
      if done then
        done()
      end
    end)
  end)
end

return M
