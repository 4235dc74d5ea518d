# List a folder. NAME is its path, DEPTH how many levels, MOST how many entries, in base64.
inside "$NAME"
[ -e "$P" ] || refuse "There is no folder $NAME."
[ -d "$P" ] || refuse "$NAME is a file, not a folder."
find "$P" -mindepth 1 -maxdepth "$DEPTH" -printf '%y\t%s\t%m\t%T@\t%P\t%l\0' 2>/dev/null |
    head -z -n "$MOST" | base64 -w0
