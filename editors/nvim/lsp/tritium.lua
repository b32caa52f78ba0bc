-- What Neovim 0.11 needs to know about the server; `vim.lsp.enable('tritium')` turns it on.
return {
  cmd = { 'tritium', 'lsp' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', 'setup.py', '.git' },
  -- The lenses that the server sends name a command of the editor.
  commands = {
    ['tritium.run'] = function(command, context)
      require('tritium').execute((command.arguments or {})[1], context.bufnr)
    end,
  },
}
