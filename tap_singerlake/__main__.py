from tap_singerlake.tap import main

main()
