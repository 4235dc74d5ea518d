# Run a command in a folder. CWD is the folder.
inside "$CWD"
cd -- "$P" 2>/dev/null || refuse "There is no folder $CWD in the workspace."
become < <(input)
