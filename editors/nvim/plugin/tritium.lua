if vim.g.loaded_tritium then
  return
end
vim.g.loaded_tritium = true

vim.api.nvim_create_user_command('TritiumRun', function()
  require('tritium').run()
end, { desc = 'Run the Triton kernel at the cursor' })

vim.api.nvim_create_user_command('Tritium', function(command)
  require('tritium.command').run(command.fargs)
end, {
  nargs = '+',
  desc = 'Views, charts, configurations and runs of the Triton kernel at the cursor',
  complete = function(lead, line)
    return require('tritium.command').complete(lead, line)
  end,
})

require('tritium.views').setup()
