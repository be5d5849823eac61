from target_singerlake.command import main

main()
