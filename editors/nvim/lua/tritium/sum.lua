--- The sum of selected text: what it loads, stores and computes. **The server takes a range where the protocol has a position.**

local requests = require('tritium.requests')

local M = {}

local function place(buffer, client, row, column)
  local line = vim.api.nvim_buf_get_lines(buffer, row - 1, row, false)[1] or ''
  return { line = row - 1, character = vim.str_utfindex(line, client.offset_encoding, math.min(column, #line)) }
end

--- Shows the sum of lines `first` to `last`, or of the last visual selection where it is in just these lines.
---@param first integer
---@param last integer
---@param done? fun(buffer: integer)
function M.open(first, last, done)
  local buffer = vim.api.nvim_get_current_buf()
  local client = requests.client(buffer)
  if not client then
    return requests.warn('no server is attached to this buffer. See :checkhealth tritium')
  end
  local from, to = vim.api.nvim_buf_get_mark(buffer, '<'), vim.api.nvim_buf_get_mark(buffer, '>')
  local is_visual = vim.fn.visualmode() == 'v' and from[1] == first and to[1] == last
  local stop = math.huge
  if is_visual then
    -- The mark stands on the last character, which is part of the selection.
    local line = vim.api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ''
    stop = to[2] < #line and to[2] + #vim.fn.strpart(line, to[2], 1, true) or #line
  end
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    position = { start = place(buffer, client, first, is_visual and from[2] or 0), ['end'] = place(buffer, client, last, stop) },
  }
  client:request('textDocument/hover', params, function(err, hover)
    if err then
      return requests.warn(err.message)
    end
    if type(hover) ~= 'table' then
      return requests.warn('nothing in the selection computes')
    end
    local lines = vim.lsp.util.convert_input_to_markdown_lines(hover.contents)
    local float = vim.lsp.util.open_floating_preview(lines, 'markdown', { border = 'rounded', focus_id = 'tritium.sum' })
    if done then
      done(float)
    end
  end, buffer)
end

return M
