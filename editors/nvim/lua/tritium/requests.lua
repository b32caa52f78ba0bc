--- The requests that the protocol has no name for. **Every answer is shown or told; an outdated one is asked for again.**

local M = {}

M.stages = {
  tree = 'text',
  items = 'python',
  source = 'python',
  tile = 'tritium_tile',
  passes = 'tritium_tile',
  layout = 'tritium_tile',
  llvm = 'llvm',
  ptx = 'tritium_ptx',
  sass = 'tritium_ptx',
  triton_ttgir = 'tritium_tile',
  triton_ptx = 'tritium_ptx',
  triton_sass = 'tritium_ptx',
}

--- Answers that a newer text made pointless.
local outdated = { [-32801] = true, [-32802] = true, [-32800] = true }

---@param message string
function M.warn(message)
  vim.notify('Tritium: ' .. message, vim.log.levels.WARN)
end

---@param buffer integer
---@return vim.lsp.Client?
function M.client(buffer)
  return vim.lsp.get_clients({ name = 'tritium', bufnr = buffer })[1]
end

--- Asks about the kernel at a place of a buffer; `done` gets what is there to show, or nil and why there is nothing.
---@param buffer integer
---@param method string
---@param more table `kernel`, `configuration`, `stage`, `wait`, `row` (1-based) and `column` (0-based)
---@param done fun(answer?: table, problem?: string)
function M.ask(buffer, method, more, done)
  local client = M.client(buffer)
  if not client then
    return done(nil, 'no server is attached to this buffer. See :checkhealth tritium')
  end
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    kernel = more.kernel,
    configuration = more.configuration,
    stage = more.stage,
    wait = more.wait,
  }
  if more.row then
    local line = vim.api.nvim_buf_get_lines(buffer, more.row - 1, more.row, false)[1] or ''
    local column = math.min(more.column or 0, #line)
    params.position = { line = more.row - 1, character = vim.str_utfindex(line, client.offset_encoding, column) }
  end
  local attempts = 0
  local function go()
    client:request(method, params, function(err, answer)
      if err then
        attempts = attempts + 1
        if outdated[err.code] and attempts < 6 then
          return vim.defer_fn(go, 60 * attempts)
        end
        return done(nil, err.message)
      end
      if type(answer) ~= 'table' then
        return done(nil, 'the server has no answer')
      end
      if answer.problem then
        return done(nil, answer.problem)
      end
      done(answer)
    end, buffer)
  end
  go()
end

--- The cursor of a window, as `ask` takes it.
---@param window integer
function M.at(window)
  local cursor = vim.api.nvim_win_get_cursor(window)
  return { row = cursor[1], column = cursor[2] }
end

return M
