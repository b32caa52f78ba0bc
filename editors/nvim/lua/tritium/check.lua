--- Every kernel of the workspace, open or not: what is found goes into the quickfix list.
---
--- While it lasts the editor shows its progress (|LspProgress|, |vim.lsp.status()|). **One check at a time; it ends answered or cancelled.**

local requests = require('tritium.requests')

local M = {}

---@type { client: vim.lsp.Client, id: integer, done?: fun(items?: table[], problem?: string) }?
local under_way

local letters = { 'E', 'W', 'I', 'N' }

local function list(reports, encoding)
  local places, by_place = {}, {}
  for _, report in ipairs(reports) do
    for _, problem in ipairs(report.items or {}) do
      local place = { uri = report.uri, range = problem.range }
      table.insert(places, place)
      by_place[place] = problem
    end
  end
  local items = vim.lsp.util.locations_to_items(places, encoding)
  for _, item in ipairs(items) do
    local problem = by_place[item.user_data]
    item.text = ('%s %s'):format(problem.code, problem.message)
    item.type = letters[problem.severity]
  end
  return items
end

--- Ends the check that is under way.
---@return boolean
function M.stop()
  local turn = under_way
  if not turn then
    return false
  end
  under_way = nil
  -- Neovim swallows the answer to a request that it has cancelled.
  turn.client:cancel_request(turn.id)
  vim.notify('Tritium: the check is stopped')
  if turn.done then
    turn.done(nil, 'stopped')
  end
  return true
end

---@param done? fun(items?: table[], problem?: string)
function M.run(done)
  local client = requests.client(vim.api.nvim_get_current_buf())
  if not client then
    return requests.warn('no server is attached to this buffer. See :checkhealth tritium')
  end
  M.stop()
  local turn = { done = done }
  local params = { previousResultIds = {}, workDoneToken = 'tritium.check' }
  local asked, id = client:request('workspace/diagnostic', params, function(err, answer)
    if under_way ~= turn then
      return
    end
    under_way = nil
    if err then
      requests.warn('the check ended: ' .. err.message)
      return done and done(nil, err.message)
    end
    local items = list(answer.items, client.offset_encoding)
    vim.fn.setqflist({}, ' ', { title = 'Tritium: kernels of the workspace', items = items })
    vim.notify(('Tritium: %d remarks in %d files'):format(#items, #answer.items))
    if #items > 0 then
      vim.cmd('botright copen | wincmd p')
    end
    if done then
      done(items)
    end
  end)
  if asked then
    turn.client, turn.id = client, id
    under_way = turn
  end
end

return M
