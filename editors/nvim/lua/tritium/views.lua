--- Stages of a kernel beside its source: splits that follow the text while it is typed and the cursor in both directions.
---
--- **A view is a buffer that nobody can write to**; closing its window ends it.

local requests = require('tritium.requests')

local M = {}

local space = vim.api.nvim_create_namespace('tritium.views')
local group = vim.api.nvim_create_augroup('tritium.views', { clear = true })
local quiet = 200

---@class tritium.View
---@field source integer
---@field stage string
---@field kernel? string
---@field configuration? string
---@field lines integer[][] for each line of the view the lines of the source, 0-based
---@field turn integer counts requests: an answer to an earlier one is dropped

---@type table<integer, tritium.View>
local views = {}
---@type table<integer, uv.uv_timer_t>
local timers = {}

local function put(buffer, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
end

local function windows_of(buffer)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_buf(window) == buffer
  end, vim.api.nvim_tabpage_list_wins(0))
end

--- Marks lines (0-based) and moves the windows of a buffer so that the first is seen.
local function mark(buffer, lines, move)
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  local count = vim.api.nvim_buf_line_count(buffer)
  -- The first of the most lines in a row: where most of what is marked stands.
  local first, length, start
  for index, line in ipairs(lines) do
    if line < count then
      if index == 1 or line ~= lines[index - 1] + 1 then
        start = index
      end
      if not length or index - start + 1 > length then
        first, length = lines[start], index - start + 1
      end
      vim.api.nvim_buf_set_extmark(buffer, space, line, 0, { line_hl_group = 'TritiumLine' })
    end
  end
  if not (move and first) then
    return
  end
  for _, window in ipairs(windows_of(buffer)) do
    local top, bottom = vim.fn.line('w0', window) - 1, vim.fn.line('w$', window) - 1
    if first < top or bottom < first then
      vim.api.nvim_win_call(window, function()
        vim.api.nvim_win_set_cursor(window, { first + 1, 0 })
        vim.cmd('normal! zt')
      end)
    end
  end
end

--- The lines of a view that come from any of the lines of the source: the places themselves, else the calls.
local function from(view, wanted)
  local set = {}
  for _, line in ipairs(wanted) do
    set[line] = true
  end
  local own, called = {}, {}
  for index, places in ipairs(view.lines) do
    if places[1] and set[places[1]] then
      table.insert(own, index - 1)
    elseif vim.iter(places):any(function(place)
      return set[place]
    end) then
      table.insert(called, index - 1)
    end
  end
  return #own > 0 and own or called
end

--- Marks in all views and the source what belongs to the line of the cursor.
function M.follow()
  local window = vim.api.nvim_get_current_win()
  local buffer = vim.api.nvim_win_get_buf(window)
  local line = vim.api.nvim_win_get_cursor(window)[1] - 1
  local view = views[buffer]
  local source = view and view.source or buffer
  local wanted = view and (view.lines[line + 1] or {}) or { line }
  local any = false
  for other, one in pairs(views) do
    if one.source == source and vim.api.nvim_buf_is_valid(other) then
      any = true
      mark(other, from(one, wanted), other ~= buffer)
    end
  end
  if any and vim.api.nvim_buf_is_valid(source) then
    mark(source, view and wanted or {}, view ~= nil)
  end
end

--- Asks for the text of a view again.
---@param buffer integer
---@param done? fun()
function M.refresh(buffer, done)
  local view = views[buffer]
  if not view then
    return
  end
  view.turn = view.turn + 1
  local turn = view.turn
  local more = { kernel = view.kernel, configuration = view.configuration, stage = view.stage }
  requests.ask(view.source, 'tritium/view', more, function(answer, problem)
    if views[buffer] ~= view or view.turn ~= turn or not vim.api.nvim_buf_is_valid(buffer) then
      return
    end
    if answer then
      view.lines = answer.lines
      put(buffer, vim.split(answer.text:gsub('\n$', ''), '\n', { plain = true }))
      vim.b[buffer].tritium_title = answer.title
    else
      view.lines = {}
      put(buffer, vim.split('// ' .. problem:gsub('\n', '\n// '), '\n', { plain = true }))
    end
    M.follow()
    if done then
      done()
    end
  end)
end

--- All views, or those of one source, after a moment of quiet.
---@param source? integer
function M.refresh_later(source)
  local key = source or 0
  timers[key] = timers[key] or vim.uv.new_timer()
  timers[key]:stop()
  timers[key]:start(quiet, 0, vim.schedule_wrap(function()
    for buffer, view in pairs(views) do
      if not source or view.source == source then
        M.refresh(buffer)
      end
    end
  end))
end

--- Opens a stage of the kernel at the cursor beside the source.
---@param stage string
---@param options? { kernel?: string, configuration?: string, diff?: boolean }
---@param done? fun(buffer: integer)
function M.open(stage, options, done)
  options = options or {}
  local source = vim.api.nvim_get_current_buf()
  local inside = views[source]
  if inside then
    options = { kernel = inside.kernel, configuration = inside.configuration }
    source = inside.source
  end
  local function show(kernel)
    local name = ('tritium://%s%s/%s'):format(kernel or 'file', options.configuration and ('@' .. options.configuration) or '', stage)
    local known = vim.fn.bufnr('^' .. vim.fn.escape(name, '@[]*?') .. '$')
    local home = vim.api.nvim_get_current_win()
    if known ~= -1 and views[known] and views[known].source == source and #windows_of(known) > 0 then
      return M.refresh(known, done and function()
        done(known)
      end)
    end
    if known ~= -1 then
      vim.api.nvim_buf_delete(known, { force = true })
    end
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
    vim.bo[buffer].bufhidden = 'wipe'
    vim.bo[buffer].modifiable = false
    views[buffer] = { source = source, stage = stage, kernel = kernel, configuration = options.configuration, lines = {}, turn = 0 }
    local beside = vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(window)
      return window ~= home and views[vim.api.nvim_win_get_buf(window)] ~= nil
    end)
    if beside and not options.diff then
      vim.api.nvim_set_current_win(beside)
      vim.cmd('belowright split')
    else
      vim.cmd('botright vsplit')
    end
    local window = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(window, buffer)
    vim.wo[window].wrap = false
    vim.wo[window].number = false
    vim.wo[window].winbar = '%{get(b:, "tritium_title", "Tritium")}'
    vim.bo[buffer].filetype = requests.stages[stage]
    vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = buffer, nowait = true, silent = true })
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = buffer,
      group = group,
      callback = function()
        views[buffer] = nil
        if vim.api.nvim_buf_is_valid(source) then
          vim.api.nvim_buf_clear_namespace(source, space, 0, -1)
        end
      end,
    })
    if options.diff then
      vim.cmd('diffthis')
    else
      vim.api.nvim_set_current_win(home)
    end
    M.refresh(buffer, done and function()
      done(buffer)
    end)
  end
  if options.kernel then
    return show(options.kernel)
  end
  requests.ask(source, 'tritium/choices', requests.at(0), function(choices, problem)
    if not choices then
      return requests.warn(problem)
    end
    show(choices.kernel ~= vim.NIL and choices.kernel or nil)
  end)
end

--- One stage of two configurations in Neovim's own difference mode, in a tab of its own.
---@param stage string
---@param kernel string
---@param left string
---@param right string
---@param done? fun(left: integer, right: integer)
function M.compare(stage, kernel, left, right, done)
  local source = vim.api.nvim_get_current_buf()
  vim.cmd('tab split')
  local first = vim.api.nvim_get_current_win()
  M.open(stage, { kernel = kernel, configuration = left, diff = true }, function(one)
    vim.api.nvim_set_current_win(first)
    vim.api.nvim_win_set_buf(first, source)
    M.open(stage, { kernel = kernel, configuration = right, diff = true }, function(other)
      if vim.api.nvim_win_is_valid(first) then
        vim.api.nvim_win_close(first, true)
      end
      if done then
        done(one, other)
      end
    end)
  end)
end

function M.setup()
  vim.api.nvim_set_hl(0, 'TritiumLine', { link = 'Visual', default = true })
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'BufEnter' }, {
    group = group,
    callback = function()
      if next(views) then
        M.follow()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
    group = group,
    callback = function(event)
      if next(views) and not views[event.buf] then
        M.refresh_later(event.buf)
      end
    end,
  })
end

return M
