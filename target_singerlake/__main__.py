from target_singerlake.target import main

main()
