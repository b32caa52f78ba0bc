-- What Neovim 0.11 needs to know about the server; `vim.lsp.enable('tritium')` turns it on.
return {
  cmd = { 'tritium', 'lsp' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', 'setup.py', '.git' },
  -- What is offered depends on the settings, and most of it is offered once, with the answer to `initialize`.
  before_init = function(params, config)
    params.initializationOptions = vim.tbl_get(config, 'settings', 'tritium')
  end,
  -- The lenses that the server sends name a command of the editor.
  commands = {
    ['tritium.run'] = function(command, context)
      require('tritium').execute((command.arguments or {})[1], context.bufnr)
    end,
    ['tritium.sanitize'] = function(command, context)
      require('tritium').execute((command.arguments or {})[1], context.bufnr, nil, 'sanitize')
    end,
    ['tritium.bench'] = function(command, context)
      require('tritium').execute((command.arguments or {})[1], context.bufnr, nil, 'bench')
    end,
    ['tritium.tune'] = function(command, context)
      require('tritium').execute((command.arguments or {})[1], context.bufnr, nil, 'tune')
    end,
  },
}
