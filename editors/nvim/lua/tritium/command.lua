--- `:Tritium {what} …`: one command for all that the protocol has no request for, with completion.

local requests = require('tritium.requests')

local M = {}

local function sorted(all)
  local names = vim.tbl_keys(all)
  table.sort(names)
  return names
end

local function stages()
  return sorted(requests.stages)
end

--- What the server offers to choose at the cursor. Completion cannot wait for long.
local function offered(name)
  local buffer = vim.api.nvim_get_current_buf()
  local found
  requests.ask(buffer, 'tritium/choices', requests.at(0), function(choices)
    found = choices or {}
  end)
  vim.wait(2000, function()
    return found ~= nil
  end, 10)
  return vim.tbl_map(function(choice)
    return choice.id
  end, (found or {})[name] or {})
end

local function chart(kind)
  return {
    act = function()
      require('tritium.charts').open(kind)
    end,
  }
end

M.commands = {
  view = {
    act = function(words)
      local stage = words[1] or 'ptx'
      if not requests.stages[stage] then
        return requests.warn(('there is no stage `%s`; there are %s'):format(stage, table.concat(stages(), ', ')))
      end
      require('tritium.views').open(stage, { configuration = words[2] })
    end,
    complete = function(words)
      return #words <= 1 and stages() or offered('configurations')
    end,
  },
  compare = {
    act = function(words)
      local source = vim.api.nvim_get_current_buf()
      requests.ask(source, 'tritium/choices', requests.at(0), function(choices, problem)
        if not choices or choices.kernel == vim.NIL then
          return requests.warn(problem or 'no kernel here')
        end
        local left, right = words[1], words[2]
        if not (left and right) then
          return requests.warn('give two configurations: :Tritium compare ONE OTHER [STAGE]')
        end
        require('tritium.views').compare(words[3] or 'ptx', choices.kernel, left, right)
      end)
    end,
    complete = function(words)
      return #words <= 2 and offered('configurations') or stages()
    end,
  },
  configs = chart('configs'),
  roofline = chart('roofline'),
  occupancy = chart('occupancy'),
  layout = chart('layout'),
  history = chart('history'),
  report = chart('report'),
  config = {
    act = function(words)
      require('tritium.looks').choose_configuration(words[1])
    end,
    complete = function()
      return offered('configurations')
    end,
  },
  gpu = {
    act = function(words)
      require('tritium.looks').choose_setting('gpu', words[1])
    end,
    complete = function()
      return offered('gpus')
    end,
  },
  triton = {
    act = function(words)
      require('tritium.looks').choose_setting('triton', words[1])
    end,
    complete = function()
      return offered('tritons')
    end,
  },
  run = {
    act = function()
      require('tritium').run()
    end,
  },
  sanitize = {
    act = function()
      require('tritium').sanitize()
    end,
  },
  keep = {
    act = function()
      require('tritium').keep()
    end,
  },
  bench = {
    act = function()
      require('tritium').bench()
    end,
  },
  tune = {
    act = function()
      require('tritium').tune()
    end,
  },
  ['tune!'] = {
    act = function()
      require('tritium').write_tuned()
    end,
  },
  stop = {
    act = function()
      if require('tritium').stop() == 0 then
        requests.warn('nothing is running')
      else
        vim.notify('Tritium: cancelled')
      end
    end,
  },
  sum = {
    act = function(_, first, last)
      require('tritium.sum').open(first, last)
    end,
  },
  check = {
    act = function(words)
      local check = require('tritium.check')
      if words[1] ~= 'stop' then
        check.run()
      elseif not check.stop() then
        requests.warn('nothing is being checked')
      end
    end,
    complete = function()
      return { 'stop' }
    end,
  },
  health = {
    act = function()
      vim.cmd('checkhealth tritium')
    end,
  },
}

---@param words string[]
---@param first integer the first line it is about
---@param last integer
function M.run(words, first, last)
  local name = table.remove(words, 1)
  local command = M.commands[name]
  if not command then
    return requests.warn(('`:Tritium %s` does not exist; there are %s'):format(name or '', table.concat(sorted(M.commands), ', ')))
  end
  command.act(words, first, last)
end

--- For `nvim_create_user_command`.
function M.complete(lead, line)
  local words = vim.split(vim.trim(line:gsub('^%s*%S+%s*', '')), '%s+')
  if line:match('%s$') and words[1] ~= '' then
    table.insert(words, '')
  end
  local all
  if #words <= 1 then
    all = sorted(M.commands)
  else
    local command = M.commands[table.remove(words, 1)]
    all = command and command.complete and command.complete(words) or {}
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, all)
end

return M
