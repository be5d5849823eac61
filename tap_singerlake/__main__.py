from tap_singerlake.command import main

main()
