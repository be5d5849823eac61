from singerlake.cli import main

main(prog_name="singerlake")
