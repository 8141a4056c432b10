import Command

runCommand()
