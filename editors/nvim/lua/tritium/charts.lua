--- Charts as text in a float: the configuration matrix, the roofline, the occupancy, a layout, what was measured.

local requests = require('tritium.requests')

local M = {}

M.kinds = { configs = 'tritium/configurations', roofline = 'tritium/roofline', occupancy = 'tritium/occupancy', layout = 'tritium/layout', history = 'tritium/history', report = 'tritium/report' }

--- Shows lines in a float in the middle of the screen; `q` closes it.
---@param title string
---@param text string
---@return integer buffer, integer window
function M.show(title, text)
  local lines = vim.split(text:gsub('\n$', ''), '\n', { plain = true })
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width + 1, vim.o.columns - 4)
  local height = math.min(#lines, vim.o.lines - 6)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = 'tritium_chart'
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = 'editor',
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    border = 'rounded',
    style = 'minimal',
    title = ' ' .. title .. ' ',
  })
  vim.wo[window].wrap = false
  vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = buffer, nowait = true, silent = true })
  vim.keymap.set('n', '<esc>', '<cmd>close<cr>', { buffer = buffer, nowait = true, silent = true })
  return buffer, window
end

--- Asks for a chart of the kernel at the cursor and shows it. Figures that are being compiled are waited for.
---@param kind 'configs'|'roofline'|'occupancy'|'layout'|'history'|'report'
---@param done? fun(buffer: integer)
function M.open(kind, done)
  local source = vim.api.nvim_get_current_buf()
  local more = vim.tbl_extend('force', requests.at(0), { wait = true })
  requests.ask(source, M.kinds[kind], more, function(chart, problem)
    if not chart then
      return requests.warn(problem)
    end
    local buffer = M.show(chart.title or (chart.kernel .. ' · Configurations'), chart.text)
    if done then
      done(buffer)
    end
  end)
end

return M
