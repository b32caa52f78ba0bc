--- `:checkhealth tritium`: is the server found, does it answer, is it attached.

local M = {}

function M.check()
  local health = vim.health
  health.start('Tritium')
  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim 0.11 or newer is needed', { 'The server is configured through vim.lsp.config.' })
    return
  end
  health.ok('Neovim ' .. tostring(vim.version()))

  local config = vim.lsp.config.tritium
  if not config then
    health.error('No configuration named "tritium"', { 'Is this plugin on the runtimepath?' })
    return
  end
  local cmd = config.cmd
  if type(cmd) == 'table' then
    local path = vim.fn.exepath(cmd[1])
    if path == '' then
      health.error(('`%s` is not a program that can be run'):format(cmd[1]), {
        'Put `tritium` on PATH, or name it: vim.lsp.config("tritium", { cmd = { "/path/to/tritium", "lsp" } })',
      })
    else
      local ran, result = pcall(function()
        return vim.system({ path, '--version' }, { text = true, timeout = 20000 }):wait()
      end)
      local answer = ran and result.code == 0 and vim.trim(result.stdout or '') or ''
      if vim.startswith(answer, 'tritium ') then
        health.ok(('%s: %s'):format(path, answer))
      else
        health.error(('%s does not answer --version as Tritium does'):format(path))
      end
    end
  else
    health.info('The server is reached through a function of your configuration')
  end

  if vim.lsp.is_enabled and not vim.lsp.is_enabled('tritium') then
    health.warn('Not enabled', { "vim.lsp.enable('tritium')" })
  end
  local clients = vim.lsp.get_clients({ name = 'tritium' })
  if #clients == 0 then
    health.info('No server is running; one starts with the first Python file')
  end
  for _, client in ipairs(clients) do
    health.ok(('Server %d is attached to %d buffers, root %s'):format(client.id, vim.tbl_count(client.attached_buffers), client.root_dir or 'none'))
  end
end

return M
