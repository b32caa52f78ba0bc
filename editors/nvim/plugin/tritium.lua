if vim.g.loaded_tritium then
  return
end
vim.g.loaded_tritium = true

vim.api.nvim_create_user_command('TritiumRun', function()
  require('tritium').run()
end, { desc = 'Run the Triton kernel at the cursor' })

vim.api.nvim_create_user_command('Tritium', function(command)
  require('tritium.command').run(command.fargs, command.line1, command.line2)
end, {
  nargs = '+',
  range = true,
  desc = 'Views, charts, configurations and runs of the Triton kernel at the cursor',
  complete = function(lead, line)
    return require('tritium.command').complete(lead, line)
  end,
})

require('tritium.views').setup()
